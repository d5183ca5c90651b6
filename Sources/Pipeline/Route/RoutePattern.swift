internal import Encoding

/// The path pattern of a route: `/a/b` exactly, `*` for exactly one segment (`/users/*/photo`), and a last `/**` for
/// the path before it and everything below (`/api/**` matches `/api`, `/api/x` and `/api/x/y`; `/**` matches all).
/// `{sub}` matches like `*`, and requires that the segment is the subject of the request's token.
///
/// Literal segments are in the normal form of ``RequestPath``: decoded, case-sensitive. For backends that ignore case,
/// see ``Route/ignoresCase``.
package struct RoutePattern: Sendable, Hashable, CustomStringConvertible {
    enum Segment: Sendable, Hashable {
        case literal(String)
        /// `*` or `{sub}`: any one segment.
        case any

        /// Literals are compared byte for byte.
        func isSame(as other: Segment) -> Bool {
            switch (self, other) {
            case (.any, .any): true
            case (.literal(let one), .literal(let two)): one.hasSameBytes(as: two)
            default: false
            }
        }

        /// Whether some segment matches both.
        func meets(_ other: Segment) -> Bool {
            if case (.literal(let one), .literal(let two)) = (self, other) { one.hasSameBytes(as: two) } else { true }
        }
    }

    /// The pattern as written.
    package let text: String
    let segments: [Segment]
    /// The index of `{sub}` among the segments; nil for none.
    let subjectSegment: Int?
    /// Whether the pattern ends in `/**`.
    let includesBelow: Bool

    package var description: String { text }

    init(text: String, segments: [Segment], subjectSegment: Int?, includesBelow: Bool) {
        self.text = text
        self.segments = segments
        self.subjectSegment = subjectSegment
        self.includesBelow = includesBelow
    }

    /// Parses a pattern. Throws an error that names the pattern and its defect.
    package init(_ text: String) throws(RouteError) {
        guard text.utf8.first == UInt8(ascii: "/") else {
            throw RouteError("pattern \"\(text)\" does not start with \"/\"")
        }
        var parts = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
        if text == "/" { parts = [] }
        let includesBelow = parts.last == "**"
        if includesBelow { parts.removeLast() }
        var segments: [Segment] = []
        for part in parts {
            segments.append(try Self.segment(part, of: text))
        }
        let subjects = parts.indices.filter { parts[$0] == Self.subject }
        if subjects.count > 1 { throw RouteError("pattern \"\(text)\" holds \"\(Self.subject)\" more than once") }
        self.text = text
        self.segments = segments
        self.subjectSegment = subjects.first
        self.includesBelow = includesBelow
    }

    private static let subject: Substring = "{sub}"

    /// Whether both match the same paths.
    func matchesSame(as other: RoutePattern) -> Bool {
        includesBelow == other.includesBelow && segments.count == other.segments.count
            && zip(segments, other.segments).allSatisfy { $0.isSame(as: $1) }
    }

    /// Whether some path matches both.
    func meets(_ other: RoutePattern) -> Bool {
        (includesBelow || segments.count >= other.segments.count)
            && (other.includesBelow || other.segments.count >= segments.count)
            && zip(segments, other.segments).allSatisfy { $0.meets($1) }
    }

    private static func segment(_ part: Substring, of text: String) throws(RouteError) -> Segment {
        if part == "*" || part == subject { return .any }
        if part == "**" { throw RouteError("pattern \"\(text)\": \"**\" may only be the last segment") }
        if part.utf8.contains(UInt8(ascii: "*")) {
            throw RouteError("pattern \"\(text)\": \"*\" stands for a whole segment and can't be part of one")
        }
        try checkNormalForm(part, of: text)
        return .literal(String(part))
    }

    /// Refuses a literal that the normal form of no request can equal: it would silently match nothing.
    private static func checkNormalForm(_ part: Substring, of text: String) throws(RouteError) {
        if part.isEmpty {
            throw RouteError("pattern \"\(text)\" has an empty segment; write it without \"//\" and trailing \"/\"")
        }
        if part == "." || part == ".." {
            throw RouteError("pattern \"\(text)\" has a dot segment")
        }
        for byte in part.utf8 {
            switch byte {
            case UInt8(ascii: ";"), UInt8(ascii: "?"), UInt8(ascii: "#"), UInt8(ascii: "\\"):
                let character = Character(Unicode.Scalar(byte))
                throw RouteError("pattern \"\(text)\" holds \"\(character)\", which no matched path can")
            case _ where PathBytes.isControl(byte):
                throw RouteError("pattern \"\(text)\" holds a control character")
            default: continue
            }
        }
        if part.unicodeScalars.contains(where: PathBytes.isDeceptive) {
            throw RouteError("pattern \"\(text)\" holds a control or a character that looks like a dot or slash")
        }
        if hasEscape(part) {
            throw RouteError("pattern \"\(text)\" holds a percent escape; write the decoded character")
        }
    }

    private static func hasEscape(_ part: Substring) -> Bool {
        let bytes = Array(part.utf8)
        return bytes.indices.contains { bytes.span.percentEncodedByte(at: $0) != nil }
    }
}
