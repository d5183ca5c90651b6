internal import SettingsReader

/// Finds files that have changed, by looking at them again and again.
///
/// A group of files is due when it is the same at two looks in a row and another one than was last judged: whoever
/// writes a file, or one file after the other, is not interrupted.
struct FileWatch {
    private var seen: [String: FileVersion] = [:]
    private var judged: [String: FileVersion] = [:]

    /// The groups that are due, which count as judged from now on.
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

    /// Makes the group due again, though its files stay as they are.
    mutating func forget(_ group: NamedFiles.Group) {
        for path in group.paths { judged[path] = nil }
    }
}
