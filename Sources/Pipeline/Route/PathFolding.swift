internal import Encoding

/// The case folding of software that ignores case.
///
/// There are two kinds, which differ beyond ASCII: only one of them folds the Kelvin sign (U+212A) to `k`. A path
/// matches only if both have the same result.
enum PathFolding: CaseIterable {
    /// `A`–`Z` become `a`–`z`; everything else is unchanged.
    case ascii
    /// Every letter becomes the lower case of its upper case, so that `ſ` is `s`, `ı` is `i` and `ß` is `ss`, whether
    /// software folds to upper or to lower case.
    case unicode

    /// - Parameter path: valid UTF-8.
    func fold(_ path: [UInt8]) -> [UInt8] {
        switch self {
        case .ascii: path.map(asciiLowercased)
        case .unicode: Self.unicodeFolded(path)
        }
    }

    func fold(_ text: String) -> String { String(decoding: fold(Array(text.utf8)), as: UTF8.self) }

    /// Whether neither kind of folding changes the text.
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
                // İ: its default lower case is an i with a combining dot, which Java and .NET turn into a plain i.
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

/// The routes as seen by backends that ignore case. A path matches only if it has the same pattern in every folding.
struct FoldedRoutes: Sendable {
    private let tries: [(folding: PathFolding, hosts: RouteHosts)]
    /// Whether all literals are lower-case ASCII, so that a path of lower-case ASCII has no other reading.
    private let isPlain: Bool

    init(_ shapes: [(host: RouteHost?, pattern: RoutePattern)]) {
        tries = PathFolding.allCases.map { folding in
            (folding, RouteHosts(shapes.map { ($0.host, $0.pattern.folded(folding)) }))
        }
        isPlain = shapes.allSatisfy { $0.pattern.folded(.unicode).matchesSame(as: $0.pattern) }
    }

    /// Whether every reading of the path matches the shape in every folding.
    func agree(on shape: Int, for path: borrowing RequestPath, at position: RouteHosts.Position) -> Bool {
        if isPlain, !path.hasOtherReading, path.withBytes(PathFolding.isPlain) { return true }
        return path.readings().allSatisfy { reading in
            tries.allSatisfy { $0.hosts.find($0.folding.fold(reading).span, at: position) == shape }
        }
    }
}

extension RequestPath {
    /// The normal form, and the readings of other software.
    func readings() -> [[UInt8]] {
        [withBytes { bytes in bytes.indices.map { bytes[$0] } }] + (hasOtherReading ? otherReadings() : [])
    }
}

extension RoutePattern {
    /// The pattern with its literals folded.
    func folded(_ folding: PathFolding) -> RoutePattern {
        RoutePattern(
            text: folding.fold(text),
            segments: segments.map { segment in
                guard case .literal(let text) = segment else { return segment }
                return .literal(folding.fold(text))
            }, subjectSegment: subjectSegment, includesBelow: includesBelow)
    }

    /// Bytes that are equal for two patterns exactly if these match the same paths.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        for segment in segments {
            bytes.append(UInt8(ascii: "/"))
            // No literal is a star.
            if case .literal(let text) = segment { bytes.append(text) } else { bytes.append(UInt8(ascii: "*")) }
        }
        return includesBelow ? bytes + Array("/**".utf8) : bytes
    }

    /// Whether a path of `other`, with a letter of its literals in the other case, matches this pattern.
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
