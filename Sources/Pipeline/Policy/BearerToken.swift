package import HTTPTypes

/// The token of a request, from `Authorization: Bearer` (RFC 6750 §2.1). Never from the query or the body.
package enum BearerToken: Sendable {
    /// No `Authorization`, or one of another scheme.
    case none
    /// The field's whole value, and how many of its bytes come before the token.
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
        self = .value(found, prefix: prefix)
    }

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
