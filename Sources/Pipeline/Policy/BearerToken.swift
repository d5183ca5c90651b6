package import HTTPTypes

/// The token of a request, from `Authorization: Bearer` (RFC 6750 §2.1). Never from the query or the body.
package enum BearerToken: Sendable {
    /// No `Authorization`, or one of another scheme.
    case none
    /// `Bearer`, a blank and the token, as the field's value is unless it is spelt otherwise, and how many bytes come
    /// before the token.
    case value(String, prefix: Int)
    /// Two of them: which one counts would be anybody's guess.
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
        // A token that is remembered by this text has one: not one for each case and number of blanks.
        guard prefix != Self.usual.utf8.count || !found.utf8.starts(with: Self.usual.utf8) else {
            self = .value(found, prefix: prefix)
            return
        }
        let token = String(decoding: found.utf8.dropFirst(prefix), as: UTF8.self)
        self = .value(Self.usual + token, prefix: Self.usual.utf8.count)
    }

    private static let usual = "Bearer "

    /// The length of `Bearer` and the blanks behind it; the scheme's case does not matter (RFC 9110 §11.1).
    private static func prefixLength(_ value: String) -> Int? {
        let scheme = "bearer"
        let bytes = value.utf8
        guard bytes.count > scheme.utf8.count else { return nil }
        for (byte, expected) in zip(bytes, scheme.utf8) where byte | 0x20 != expected { return nil }
        let space = UInt8(ascii: " ")
        let blanks = bytes.dropFirst(scheme.utf8.count).prefix { $0 == space }.count
        return blanks > 0 ? scheme.utf8.count + blanks : nil
    }
}
