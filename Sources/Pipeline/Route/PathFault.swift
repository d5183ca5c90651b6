/// The reason that a request target is refused. The raw value is logged; the client gets only the status.
package enum PathFault: String, Error, Sendable, CaseIterable {
    /// Longer than ``RequestPath/maximumLength`` bytes.
    case tooLong = "target-too-long"
    /// Does not start with `/`: absolute, authority or asterisk form (RFC 9112 §3.2), or nothing at all.
    case notOriginForm = "target-not-origin-form"
    /// A byte that RFC 3986 §3.3 does not allow raw in a path.
    case forbiddenByte = "path-forbidden-byte"
    /// A control, a space, `#` or a byte above ASCII in the query.
    case forbiddenQueryByte = "query-forbidden-byte"
    /// `%` without two hexadecimal digits after it.
    case malformedEscape = "path-malformed-escape"
    /// `%2F` or `%5C`: some software reads a separator, other software a character.
    case encodedSeparator = "path-encoded-separator"
    /// An encoded NUL or C1 control (U+0080 to U+009F).
    case encodedControl = "path-encoded-control"
    /// A second decoding would change the decoded path, as for `%252e`.
    case doubleEncoding = "path-double-encoding"
    /// `.` or `..`, in any encoding, also followed by a `;parameter`.
    case dotSegment = "path-dot-segment"
    /// `//`, or a segment that consists of a parameter alone.
    case emptySegment = "path-empty-segment"
    /// The decoded bytes are not UTF-8, which excludes overlong forms.
    case invalidUTF8 = "path-invalid-utf8"
    /// A character that some software reads as a dot, slash or backslash.
    case deceptiveCharacter = "path-deceptive-character"
    /// The path does not have the prefix that the route removes in plain bytes.
    case ambiguousRewrite = "path-ambiguous-rewrite"

    /// The error for the client: 414 for length, 400 for everything else.
    package var error: GatewayError {
        self == .tooLong ? .uriTooLong : .badRequest
    }
}
