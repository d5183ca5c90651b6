/// A revocation of tokens of one issuer that have not expired.
///
/// It matches claims and never a token's text, so a rewritten token is revoked too, such as one with the second of the
/// two valid ECDSA signatures.
package struct Revocation: Sendable, Hashable {
    /// The tokens that are revoked.
    package enum Target: Sendable, Hashable {
        /// All tokens of one sign-in at Cognito, including refreshed ones, by their `origin_jti`.
        case originID(String)
        /// The token with this `jti`.
        case tokenID(String)
        /// All tokens of one session, by their `sid`.
        case session(String)
        /// All tokens of a subject that signed in at or before this second (`auth_time`, or `iat` without one), in
        /// seconds since 1970. A token with neither is revoked too.
        case subject(String, before: Int64)
        /// As ``subject(_:before:)``, except for the tokens of one sign-in: `sparing` is their `origin_jti`, or the
        /// `sid` of tokens without one.
        case otherSignIns(String, before: Int64, sparing: String)
    }

    /// Whether a target can have this value: 1 to 1024 bytes without U+0000, which every store can hold.
    package static func isValue(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count) && !text.utf8.contains(0)
    }

    /// The `iss` of the tokens.
    package let issuer: String
    package let target: Target
    /// The second since 1970 from which none of the tokens would be valid anyway.
    package let endsAt: Int64

    package init(issuer: String, _ target: Target, endsAt: Int64) {
        self.issuer = issuer
        self.target = target
        self.endsAt = endsAt
    }

    /// Whether it revokes all tokens of a user up to a time.
    package var meansUser: Bool {
        switch target {
        case .subject, .otherSignIns: true
        case .originID, .tokenID, .session: false
        }
    }
}

/// The key by which a revocation is found.
struct RevocationKey: Hashable, Sendable {
    enum Kind: UInt8 {
        case originID, tokenID, session, subject, superseded
    }

    /// Bytes, because Swift's strings are equal if they are canonically equivalent.
    private let bytes: [UInt8]

    var kind: Kind? { bytes.first.flatMap(Kind.init) }

    /// The issuer, and the value of the claim.
    var names: (issuer: String, value: String)? {
        guard let mark = bytes.firstIndex(of: 0xFF) else { return nil }
        return (
            String(decoding: bytes[1..<mark], as: UTF8.self), String(decoding: bytes[(mark + 1)...], as: UTF8.self)
        )
    }

    init(_ kind: Kind, _ value: String, issuer: String) {
        var bytes: [UInt8] = [kind.rawValue]
        bytes.reserveCapacity(2 + issuer.utf8.count + value.utf8.count)
        bytes.append(contentsOf: issuer.utf8)
        // This byte never occurs in UTF-8.
        bytes.append(0xFF)
        bytes.append(contentsOf: value.utf8)
        self.bytes = bytes
    }

    init(_ revocation: Revocation) {
        switch revocation.target {
        case .originID(let value): self.init(.originID, value, issuer: revocation.issuer)
        case .tokenID(let value): self.init(.tokenID, value, issuer: revocation.issuer)
        case .session(let value): self.init(.session, value, issuer: revocation.issuer)
        case .subject(let value, _), .otherSignIns(let value, _, _):
            self.init(.subject, value, issuer: revocation.issuer)
        }
    }
}
