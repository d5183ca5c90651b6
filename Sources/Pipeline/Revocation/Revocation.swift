/// Tokens of one issuer that count no more although they have not expired.
///
/// It names what tokens say and never how they are written: whoever respells a token, as with the other of the two
/// signatures that ECDSA has for it, is meant all the same.
package struct Revocation: Sendable, Hashable {
    /// Which tokens are meant.
    package enum Target: Sendable, Hashable {
        /// All of one sign-in at Cognito, also those refreshed since: their `origin_jti`.
        case originID(String)
        /// The one with this `jti`.
        case tokenID(String)
        /// All of one session: their `sid`.
        case session(String)
        /// All of a subject that signed in at this second or before (`auth_time`; where a token has none, `iat`), in
        /// seconds since 1970. A token that says neither is meant as well.
        case subject(String, before: Int64)
        /// As ``subject(_:before:)``, but for the tokens of one sign-in: `sparing` is their `origin_jti`, or the `sid` of
        /// tokens without one.
        case otherSignIns(String, before: Int64, sparing: String)
    }

    /// Whether a target can have this value: every store can keep one of at most 1024 bytes without U+0000.
    package static func isValue(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count) && !text.utf8.contains(0)
    }

    /// The `iss` of the tokens.
    package let issuer: String
    package let target: Target
    /// The second since 1970 from which none of them would be valid any more.
    package let endsAt: Int64

    package init(issuer: String, _ target: Target, endsAt: Int64) {
        self.issuer = issuer
        self.target = target
        self.endsAt = endsAt
    }

    /// Whether all of a user's tokens of some time are meant.
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

    /// Bytes, because Swift's text is the same as other text that is canonically equivalent.
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
        // No UTF-8 has this byte.
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
