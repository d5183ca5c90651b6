internal import Encoding

/// The `typ` headers that an issuer's tokens may have. Other kinds of JWT, such as proofs of possession and logout
/// tokens, must not be accepted for access (RFC 8725, 3.11).
package struct TokenTypes: Sendable, Equatable {
    /// The maximum length of a `typ` that can be accepted, in bytes.
    package static let maximumBytes = 127

    /// In lower case, without `application/`.
    package let names: Set<String>
    /// Whether a token without `typ` is refused.
    package let isRequired: Bool

    /// - Parameter names: in any case, with or without `application/`.
    package init(_ names: some Sequence<String>, isRequired: Bool) {
        self.names = Set(names.map(Self.normal))
        self.isRequired = isRequired
    }

    /// No `typ`, or `JWT`; an access token may also have `at+jwt` (RFC 9068, 2.1).
    static let plain = TokenTypes(["JWT"], isRequired: false)
    static let access = TokenTypes(["JWT", "at+jwt"], isRequired: false)
    /// The `typ` of the gateway's sessions, which no other token has.
    static let session = TokenTypes(["session+jwt"], isRequired: true)

    /// - Parameter type: in normal form; nil if the header has none.
    func accepts(_ type: String?) -> Bool {
        guard let type else { return !isRequired }
        return names.contains { $0.hasSameBytes(as: type) }
    }

    /// `typ` is a media type: it is case-insensitive, and `application/` may be omitted (RFC 7515, 4.1.9). Names of
    /// media types are ASCII (RFC 6838, 4.2), so only ASCII letters are converted to lower case.
    package static func normal(_ type: String) -> String {
        let prefix = "application/".utf8
        let name = type.utf8.map(asciiLowercased)
        return String(decoding: name.starts(with: prefix) ? name[prefix.count...] : name[...], as: UTF8.self)
    }
}
