internal import SettingsReader

/// Groups of changed files that cannot be used. Their previous contents stay in use.
struct RejectedFiles {
    private struct Entry {
        let keys: [String]
        let errors: [String]
        /// The number of checks since the group was rejected.
        var looks = 0

        var isReported: Bool { looks > 1 }
    }

    /// The rejected groups by their paths.
    private var entries: [Set<String>: Entry] = [:]

    /// The number of groups that were reported to the operator.
    var reported: Int { entries.values.count(where: \.isReported) }

    /// Rejects a group.
    ///
    /// - Parameter errors: the reasons. Unchanged errors are not reported again.
    mutating func keepOut(_ group: NamedFiles.Group, _ errors: [String]) {
        guard entries[group.paths]?.errors != errors else { return }
        entries[group.paths] = Entry(keys: group.keys, errors: errors)
    }

    mutating func letIn(_ group: NamedFiles.Group) { entries[group.paths] = nil }

    mutating func removeAll() { entries = [:] }

    /// Ends a check of the files.
    ///
    /// - Returns: the groups to report. A group that was rejected in this check is reported after the next one, because
    ///   a certificate may get its matching key until then.
    mutating func endLook() -> [(keys: [String], errors: [String])] {
        var news: [(keys: [String], errors: [String])] = []
        for (paths, entry) in entries where !entry.isReported {
            entries[paths]?.looks += 1
            if entries[paths]?.isReported == true { news.append((entry.keys, entry.errors)) }
        }
        return news.sorted { $0.keys.lexicographicallyPrecedes($1.keys) }
    }
}
