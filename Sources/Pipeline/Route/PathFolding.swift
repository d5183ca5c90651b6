internal import Encoding

/// How software that ignores case reads letters.
///
/// There are two kinds, which differ for letters beyond ASCII: `K` (the Kelvin sign) is `k` to one and stays itself to
/// the other. A path counts only where both come to the same.
enum PathFolding: CaseIterable {
    /// `A`–`Z` are `a`–`z`; all else stays.
    case ascii
    /// Every letter has the lower case of its upper case, so that `ſ` is `s`, `ı` is `i` and `ß` is `ss`, whichever of
    /// the two cases somebody folds to.
    case unicode

    /// - Parameter path: valid UTF-8.
    func fold(_ path: [UInt8]) -> [UInt8] {
        switch self {
        case .ascii: path.map(asciiLowercased)
        case .unicode: Self.unicodeFolded(path)
        }
    }

    func fold(_ text: String) -> String { String(decoding: fold(Array(text.utf8)), as: UTF8.self) }

    /// Whether no kind of folding changes the text.
    static func keeps(_ text: String) -> Bool {
        isPlain(text.utf8.span) || allCases.allSatisfy { $0.fold(text).hasSameBytes(as: text) }
    }

    /// Whether the text is ASCII without capitals.
    static func isPlain(_ text: borrowing Span<UInt8>) -> Bool {
        for index in text.indices where text[index] >= 0x80 || text[index] &- UInt8(ascii: "A") < 26 { return false }
        return true
    }

    private static func unicodeFolded(_ path: [UInt8]) -> [UInt8] {
        var folded: [UInt8] = []
        folded.reserveCapacity(path.count)
        for scalar in String(decoding: path, as: UTF8.self).unicodeScalars {
            if scalar.isASCII {
                folded.append(asciiLowercased(UInt8(truncatingIfNeeded: scalar.value)))
            } else if scalar.value == 0x130 {
                // İ: its lower case by itself is an i with a dot above, which Java and .NET make a plain one.
                folded.append(UInt8(ascii: "i"))
            } else {
                for upper in scalar.properties.uppercaseMapping.unicodeScalars {
                    folded.append(contentsOf: upper.properties.lowercaseMapping.utf8)
                }
            }
        }
        return folded
    }
}

/// The routes as backends see them that ignore case: a path is such a backend's where it is under the same pattern in
/// whichever case it is read.
struct FoldedRoutes: Sendable {
    private let tries: [(folding: PathFolding, hosts: RouteHosts)]
    /// Whether all literals are in lower-case ASCII, so that a path that is too has no other reading.
    private let isPlain: Bool

    init(_ shapes: [(host: RouteHost?, pattern: RoutePattern)]) {
        tries = PathFolding.allCases.map { folding in
            (folding, RouteHosts(shapes.map { ($0.host, $0.pattern.folded(folding)) }))
        }
        isPlain = shapes.allSatisfy { $0.pattern.folded(.unicode).matchesSame(as: $0.pattern) }
    }

    /// Whether every reading of the path comes under the shape, however letters are folded.
    func agree(on shape: Int, for path: borrowing RequestPath, at position: RouteHosts.Position) -> Bool {
        if isPlain, !path.hasOtherReading, path.withBytes(PathFolding.isPlain) { return true }
        return path.readings().allSatisfy { reading in
            tries.allSatisfy { $0.hosts.find($0.folding.fold(reading).span, at: position) == shape }
        }
    }
}

extension RequestPath {
    /// The normal form, and what other software makes of it.
    func readings() -> [[UInt8]] {
        [withBytes { bytes in bytes.indices.map { bytes[$0] } }] + (hasOtherReading ? otherReadings() : [])
    }
}

extension RoutePattern {
    /// The same with its literals folded.
    func folded(_ folding: PathFolding) -> RoutePattern {
        RoutePattern(
            text: folding.fold(text),
            segments: segments.map { segment in
                guard case .literal(let text) = segment else { return segment }
                return .literal(folding.fold(text))
            }, subjectSegment: subjectSegment, includesBelow: includesBelow)
    }

    /// The same for two patterns that match the same paths, and for no others.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for segment in segments {
            bytes.append(UInt8(ascii: "/"))
            // No literal is a star.
            if case .literal(let text) = segment { bytes.append(text) } else { bytes.append(UInt8(ascii: "*")) }
        }
        return includesBelow ? bytes + Array("/**".utf8) : bytes
    }

    /// Whether a path of `other`, with some letter of its literals in the other case, comes under this pattern.
    package func takes(recased other: RoutePattern) -> Bool {
        var isRecased = false
        for (index, segment) in other.segments.enumerated() {
            guard index < segments.count else {
                guard includesBelow else { return false }
                if Self.hasCase(segment) { isRecased = true }
                continue
            }
            switch (segments[index], segment) {
            case (.any, let segment): if Self.hasCase(segment) { isRecased = true }
            case (.literal(let own), .literal(let others)):
                guard PathFolding.unicode.fold(own).hasSameBytes(as: PathFolding.unicode.fold(others)) else {
                    return false
                }
                if !own.hasSameBytes(as: others) { isRecased = true }
            case (.literal, .any): return false
            }
        }
        return isRecased && (segments.count <= other.segments.count || other.includesBelow)
    }

    private static func hasCase(_ segment: Segment) -> Bool {
        guard case .literal(let text) = segment else { return false }
        return text.unicodeScalars.contains { $0.properties.isCased }
    }
}
