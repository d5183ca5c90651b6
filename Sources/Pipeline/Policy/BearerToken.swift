package import HTTPTypes

/// The token of a request, from `Authorization: Bearer` (RFC 6750 §2.1). Never from the query or the body.
package enum BearerToken: Sendable {
    /// No `Authorization`, or one of another scheme.
    case none
    /// The field value in its normal spelling, `Bearer`, one space and the token, and the number of bytes before the
    /// token.
    case value(String, prefix: Int)
    /// Two `Authorization` fields, which are ambiguous.
    case repeated

    package init(of request: HTTPRequest) {
        var found: String?
        for field in request.headerFields where field.name == .authorization {
            guard found == nil else {
                self = .repeated
                return
            }
            found = field.value
        }
        guard let found, let prefix = Self.prefixLength(found) else {
            self = .none
            return
        }
        // Verified tokens are cached by this text. Each has one spelling, not one for each case and number of blanks.
        guard prefix != Self.usual.utf8.count || !Self.isUsual(found.utf8.span) else {
            self = .value(found, prefix: prefix)
            return
        }
        let token = String(decoding: found.utf8.dropFirst(prefix), as: UTF8.self)
        self = .value(Self.usual + token, prefix: Self.usual.utf8.count)
    }

    private static let usual = "Bearer "

    /// Whether a value whose scheme and blanks have the normal length has them in the normal spelling.
    private static func isUsual(_ value: borrowing Span<UInt8>) -> Bool {
        let usual = usual.utf8.span
        for index in usual.indices where value[index] != usual[index] { return false }
        return true
    }

    /// The length of `Bearer` and the blanks after it; the scheme's case does not matter (RFC 9110 §11.1).
    ///
    /// A tab counts as a blank: backends that split at white space find a token after it, so it must be verified. They
    /// may also find one after a non-ASCII byte, such as the no-break space of Latin-1. That byte counts as part of the
    /// token, which is refused. Before the scheme it makes the whole value a token, which is also refused.
    private static func prefixLength(_ value: String) -> Int? {
        let (bytes, scheme) = (value.utf8.span, "bearer".utf8.span)
        var start = 0
        while start < bytes.count, bytes[start] >= 0x80 || isBlank(bytes[start]) { start += 1 }
        guard bytes.count > start + scheme.count else { return nil }
        for index in scheme.indices where bytes[start + index] | 0x20 != scheme[index] { return nil }
        var end = start + scheme.count
        while end < bytes.count, isBlank(bytes[end]) { end += 1 }
        guard end > start + scheme.count || bytes[end] >= 0x80 else { return nil }
        return start == 0 ? end : 0
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
}
