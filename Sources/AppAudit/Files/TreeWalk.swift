/// Lists the files of a tree, except those that `.gitignore` files and the list of build directories exclude.
struct TreeWalk {
    struct Level {
        let names: [[UInt8]]
        /// The patterns of the directories above, each with the depth of its directory.
        let rules: [(depth: Int, rules: IgnoreRules)]
    }

    let root: [UInt8]
    let includesIgnored: Bool
    /// The number of excluded files and directories.
    private(set) var ignored = 0
    /// The directories that cannot be read or are too deep.
    private(set) var unreadable: [String] = []
    private var waiting: [Level]

    private static let maximumDepth = 200
    /// The directories of packages, builds and tools, which are excluded.
    static let ignoredDirectories: Set<String> = [
        "Pods", "Carthage", "node_modules", "bower_components", ".build", "build", "Build", "DerivedData", "dist",
        "out",
        ".gradle", ".dart_tool", ".pub-cache", ".idea", ".vscode", ".swiftpm", ".expo", ".next",
        "__pycache__", ".venv", "venv", "target", "SourcePackages", ".fvm", "xcuserdata",
    ]
    private static let stores = Set([".git", ".svn", ".hg"].map { Array($0.utf8) })

    init(root: [UInt8], includesIgnored: Bool) {
        self.root = root
        self.includesIgnored = includesIgnored
        waiting = [Level(names: [], rules: [])]
    }

    /// The paths of the next files, relative to the root; nil at the end.
    mutating func next() -> [[UInt8]]? {
        var files: [[UInt8]] = []
        while files.count < 64 {
            guard let level = waiting.popLast() else { return files.isEmpty ? nil : files }
            files += read(level)
        }
        return files
    }

    private mutating func read(_ level: Level) -> [[UInt8]] {
        let directory = path(level.names)
        guard let entries = Directory.entries(of: directory) else {
            unreadable.append(String(decoding: relative(level.names), as: UTF8.self))
            return []
        }
        var rules = level.rules
        if !includesIgnored, entries.contains(where: { $0.name == Array(".gitignore".utf8) && $0.kind == .file }),
            let file = OpenFile(directory + Array("/.gitignore".utf8)),
            let text = file.read(0..<min(file.size, IgnoreRules.maximumBytes))
        {
            rules.append((level.names.count, IgnoreRules(text)))
        }
        var files: [[UInt8]] = []
        var directories: [Level] = []
        for entry in entries where entry.kind != .other {
            let names = level.names + [entry.name]
            // The contents of a version control directory do not belong to the app.
            if entry.kind == .directory, Self.stores.contains(entry.name) { continue }
            if isIgnored(names, entry, rules) {
                ignored += 1
            } else if entry.kind == .file {
                files.append(relative(names))
            } else if names.count > Self.maximumDepth {
                unreadable.append(String(decoding: relative(names), as: UTF8.self))
            } else {
                directories.append(Level(names: names, rules: rules))
            }
        }
        waiting += directories.reversed()
        return files
    }

    private func isIgnored(_ names: [[UInt8]], _ entry: Directory.Entry, _ rules: [(depth: Int, rules: IgnoreRules)])
        -> Bool
    {
        let name = String(decoding: entry.name, as: UTF8.self)
        let isDirectory = entry.kind == .directory
        guard !includesIgnored else { return false }
        if isDirectory, Self.ignoredDirectories.contains(name) { return true }
        for (depth, rules) in rules.reversed() {
            if let isExcluded = rules.excludes(names[depth...], isDirectory: isDirectory) { return isExcluded }
        }
        return false
    }

    private func relative(_ names: [[UInt8]]) -> [UInt8] { Array(names.joined(separator: [UInt8(ascii: "/")])) }

    private func path(_ names: [[UInt8]]) -> [UInt8] {
        names.isEmpty ? root : root + [UInt8(ascii: "/")] + relative(names)
    }
}
