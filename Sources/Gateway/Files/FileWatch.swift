internal import SettingsReader

/// Finds changed files by polling.
///
/// A group of files is due when it is the same at two consecutive checks and differs from the version that was
/// processed last. A writer of one or several files is therefore not interrupted.
struct FileWatch {
    private var seen: [String: FileVersion] = [:]
    private var judged: [String: FileVersion] = [:]

    /// Returns the groups that are due, and marks them as processed.
    mutating func due(
        _ groups: [NamedFiles.Group], version: (_ path: String) -> FileVersion
    ) -> [NamedFiles.Group] {
        groups.filter { group in
            var isStable = true
            var isOther = false
            for path in group.paths {
                let version = version(path)
                isStable = seen.updateValue(version, forKey: path) == version && isStable
                isOther = judged[path] != version || isOther
            }
            guard isStable, isOther else { return false }
            for path in group.paths { judged[path] = seen[path] }
            return true
        }
    }

    /// Makes the group due again even if its files do not change.
    mutating func forget(_ group: NamedFiles.Group) {
        for path in group.paths { judged[path] = nil }
    }
}
