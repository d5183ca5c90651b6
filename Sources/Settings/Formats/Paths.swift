internal import Pipeline
internal import SettingsReader

extension ScalarFormat where Value == String {
    /// A path pattern of the route table: exact, with `*` for any one segment, with `{sub}` for a segment that equals
    /// the token's subject, or with a final `/**` for all paths below.
    static var routePath: Self {
        Self(schema: .path) { (text) throws(ScalarRefusal) in
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard !parts.contains(where: isParameter) else {
                throw ScalarRefusal(
                    "\"*\" stands for any one segment, and {sub} for one that is the token's subject",
                    suggestion: parts.map { isParameter($0) ? "*" : $0 }.joined(separator: "/"))
            }
            let segments = try pathSegments(
                parts.map { $0 == "{sub}" ? "*" : $0 }.joined(separator: "/"), isDecoded: true)
            for (index, segment) in segments.enumerated() where segment.contains("*") {
                guard segment == "*" || segment == "**" else {
                    throw ScalarRefusal("\"*\" must be a whole segment, as in /users/*/photo")
                }
                guard segment == "*" || index == segments.count - 1 else {
                    throw ScalarRefusal("\"**\" may only be the last segment, as in /api/**")
                }
            }
            return try routable(text)
        }
    }

    /// Whether the segment is `{id}` or `<id>`, the parameter syntax of web frameworks.
    private static func isParameter(_ segment: Substring) -> Bool {
        let isBraced = segment.hasPrefix("{") && segment.hasSuffix("}") && segment != "{sub}"
        return isBraced || segment.hasPrefix("<") && segment.hasSuffix(">")
    }

    /// Returns `text` if it is a valid pattern, which a normalized request path can match.
    private static func routable(_ text: String) throws(ScalarRefusal) -> String {
        do {
            _ = try RoutePattern(text)
        } catch {
            throw ScalarRefusal(error.message)
        }
        return text
    }

    /// A path prefix, such as `/api/v1/auth`.
    static var pathPrefix: Self {
        Self(schema: .path, show: { $0 }) { (text) throws(ScalarRefusal) in
            guard try pathSegments(text).allSatisfy({ !$0.contains("*") && !$0.isEmpty }) else {
                throw ScalarRefusal("must be a path like /api/v1/auth, without \"*\" and without a \"/\" at its end")
            }
            return try routable(text)
        }
    }
}

/// The segments of a normalized path. Requests are matched by their normalized path, so a pattern in another form could
/// never match.
///
/// - Parameter isDecoded: whether `text` may hold characters that a URL percent-encodes, such as a space and `é`.
private func pathSegments(_ text: String, isDecoded: Bool = false) throws(ScalarRefusal) -> [Substring] {
    guard text.hasPrefix("/") else { throw ScalarRefusal("must begin with \"/\"") }
    let isWritten = { (byte: UInt8) in
        (0x21...0x7E).contains(byte) || isDecoded && (byte == UInt8(ascii: " ") || byte >= 0x80)
    }
    guard text.utf8.allSatisfy(isWritten), !text.contains(where: { "?#\\\"<>^`{|}".contains($0) }) else {
        throw ScalarRefusal("must hold only characters of a URL's path, without query and fragment")
    }
    let segments = text.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
    guard !segments.dropLast().contains(where: \.isEmpty) else { throw ScalarRefusal("must not hold \"//\"") }
    guard !segments.contains(where: { $0 == "." || $0 == ".." }) else {
        throw ScalarRefusal("must not hold \".\" or \"..\" segments")
    }
    return segments
}
