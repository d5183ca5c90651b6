internal import SettingsReader

/// Groups of changed files that cannot be used, while the contents from before stay in use.
struct FilesKeptOut {
    private struct Entry {
        let keys: [String]
        let errors: [String]
        /// Looks at the files that it has outlasted.
        var looks = 0

        var isReported: Bool { looks > 1 }
    }

    /// By the group's paths.
    private var entries: [Set<String>: Entry] = [:]

    /// Groups of which the operator has been told.
    var reported: Int { entries.values.count(where: \.isReported) }

    /// - Parameter errors: why it cannot be used. The same errors as before are not news.
    mutating func keepOut(_ group: NamedFiles.Group, _ errors: [String]) {
        guard entries[group.paths]?.errors != errors else { return }
        entries[group.paths] = Entry(keys: group.keys, errors: errors)
    }

    mutating func letIn(_ group: NamedFiles.Group) { entries[group.paths] = nil }

    mutating func removeAll() { entries = [:] }

    /// Ends a look at the files.
    ///
    /// - Returns: the groups to report. A group that came with this look is not among them yet: a certificate that waits
    ///   for its key may have it at the next.
    mutating func endLook() -> [(keys: [String], errors: [String])] {
        var news: [(keys: [String], errors: [String])] = []
        for (paths, entry) in entries where !entry.isReported {
            entries[paths]?.looks += 1
            if entries[paths]?.isReported == true { news.append((entry.keys, entry.errors)) }
        }
        return news.sorted { $0.keys.lexicographicallyPrecedes($1.keys) }
    }
}
