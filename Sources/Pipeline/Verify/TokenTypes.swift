internal import Encoding

/// Which `typ` headers an issuer's tokens may have. Other kinds of JWT, such as proofs of possession and logout tokens,
/// must not pass for one that gives access (RFC 8725, 3.11).
package struct TokenTypes: Sendable, Equatable {
    /// The most bytes of a `typ` that can be one of them.
    package static let maximumBytes = 127

    /// In lower case, without `application/`.
    package let names: Set<String>
    /// Whether a token without `typ` is refused.
    package let isRequired: Bool

    /// - Parameter names: of any case, with `application/` or without it.
    package init(_ names: some Sequence<String>, isRequired: Bool) {
        self.names = Set(names.map(Self.normal))
        self.isRequired = isRequired
    }

    /// Says nothing, or `JWT`; an access token may also say `at+jwt` (RFC 9068, 2.1).
    static let plain = TokenTypes(["JWT"], isRequired: false)
    static let access = TokenTypes(["JWT", "at+jwt"], isRequired: false)
    /// The gateway's sessions say so, and nothing else does.
    static let session = TokenTypes(["session+jwt"], isRequired: true)

    /// - Parameter type: in normal form; nil where the header has none.
    func accepts(_ type: String?) -> Bool {
        guard let type else { return !isRequired }
        return names.contains { $0.hasSameBytes(as: type) }
    }

    /// `typ` is a media type, which has no case, and whose `application/` may be left out (RFC 7515, 4.1.9).
    /// Names of media types are ASCII (RFC 6838, 4.2): other letters have no other case here.
    package static func normal(_ type: String) -> String {
        let prefix = "application/".utf8
        let name = type.utf8.map(asciiLowercased)
        return String(decoding: name.starts(with: prefix) ? name[prefix.count...] : name[...], as: UTF8.self)
    }
}
