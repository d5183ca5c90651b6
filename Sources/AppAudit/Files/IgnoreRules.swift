/// The patterns of one `.gitignore` file (gitignore(5)).
struct IgnoreRules: Sendable {
    private struct Pattern {
        /// The segments between slashes; `**` is a separate segment.
        var segments: [[UInt8]]
        var isNegated = false
        var isForDirectories = false
    }

    private let patterns: [Pattern]
    /// The maximum size that is read: more patterns would slow down the check of every file.
    static let maximumBytes = 1 << 18
    private static let maximumPatterns = 2000

    init(_ text: some Sequence<UInt8>) {
        patterns = Array(text.prefix(Self.maximumBytes)).split(separator: UInt8(ascii: "\n"))
            .prefix(Self.maximumPatterns).compactMap { Self.pattern(Array($0)) }
    }

    private static func pattern(_ line: [UInt8]) -> Pattern? {
        var line = line[...]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        while line.last == 0x20, line.dropLast().last != UInt8(ascii: "\\") { line.removeLast() }
        guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
        var pattern = Pattern(segments: [])
        if first == UInt8(ascii: "!") {
            pattern.isNegated = true
            line.removeFirst()
        }
        if line.last == UInt8(ascii: "/") {
            pattern.isForDirectories = true
            line.removeLast()
        }
        let isAnchored = line.contains(UInt8(ascii: "/"))
        if line.first == UInt8(ascii: "/") { line.removeFirst() }
        guard !line.isEmpty else { return nil }
        pattern.segments = line.split(separator: UInt8(ascii: "/")).map(Array.init)
        if !isAnchored { pattern.segments.insert(Array("**".utf8), at: 0) }
        return pattern
    }

    /// Whether the last matching pattern excludes (true) or includes (false) a path; nil if none matches.
    ///
    /// - Parameter path: the path's components below the directory of the `.gitignore` file.
    func excludes(_ path: ArraySlice<[UInt8]>, isDirectory: Bool) -> Bool? {
        for pattern in patterns.reversed() where isDirectory || !pattern.isForDirectories {
            if Self.matches(pattern.segments, path) { return !pattern.isNegated }
        }
        return nil
    }

    private static let anyNames = Array("**".utf8)

    /// Matches in time proportional to the product of both lengths, since only the last `**` is retried.
    private static func matches(_ segments: [[UInt8]], _ path: ArraySlice<[UInt8]>) -> Bool {
        var (place, index) = (0, path.startIndex)
        var retry: (place: Int, index: Int)?
        while index < path.endIndex {
            if place < segments.count, segments[place] == anyNames {
                // A final `**` matches everything inside.
                if place == segments.count - 1 { return true }
                retry = (place + 1, index)
                place += 1
            } else if place < segments.count, Wildcards.match(segments[place], path[index]) {
                (place, index) = (place + 1, index + 1)
            } else if let last = retry {
                retry = (last.place, last.index + 1)
                (place, index) = (last.place, last.index + 1)
            } else {
                return false
            }
        }
        return place == segments.count
    }
}

/// Patterns with `*`, `?` and `[…]` for one name (fnmatch(3)).
enum Wildcards {
    /// Matches in time proportional to the product of both lengths, since only the last star is retried.
    static func match(_ pattern: [UInt8], _ name: [UInt8]) -> Bool {
        var (place, index) = (0, 0)
        var retry: (place: Int, index: Int)?
        while index < name.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                retry = (place + 1, index)
                place += 1
            } else if let next = step(pattern, at: place, name[index]) {
                place = next
                index += 1
            } else if let last = retry {
                retry = (last.place, last.index + 1)
                (place, index) = (last.place, last.index + 1)
            } else {
                return false
            }
        }
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") { place += 1 }
        return place == pattern.count
    }

    /// The position after the part of the pattern that matches `byte`; nil if it does not match.
    private static func step(_ pattern: [UInt8], at place: Int, _ byte: UInt8) -> Int? {
        guard place < pattern.count else { return nil }
        switch pattern[place] {
        case UInt8(ascii: "?"): return place + 1
        case UInt8(ascii: "\\") where place + 1 < pattern.count: return pattern[place + 1] == byte ? place + 2 : nil
        case UInt8(ascii: "["): return matchClass(pattern, at: place, byte)
        default: return pattern[place] == byte ? place + 1 : nil
        }
    }

    private static func matchClass(_ pattern: [UInt8], at start: Int, _ byte: UInt8) -> Int? {
        var place = start + 1
        let isNegated = place < pattern.count && "!^".utf8.contains(pattern[place])
        if isNegated { place += 1 }
        var (isIn, isFirst) = (false, true)
        while place < pattern.count, isFirst || pattern[place] != UInt8(ascii: "]") {
            isFirst = false
            if place + 2 < pattern.count, pattern[place + 1] == UInt8(ascii: "-"),
                pattern[place + 2] != UInt8(ascii: "]")
            {
                isIn = isIn || (pattern[place] <= byte && byte <= pattern[place + 2])
                place += 3
            } else {
                isIn = isIn || pattern[place] == byte
                place += 1
            }
        }
        guard place < pattern.count else { return pattern[start] == byte ? start + 1 : nil }
        return isIn != isNegated ? place + 1 : nil
    }
}
