internal import Cryptography
internal import Encoding
package import Pipeline
internal import Store

/// The session that a call is of, as its token tells.
package struct CalledSession: Sendable, Equatable {
    /// No other session has it.
    package var id: String
    /// When its user signed in, in seconds since 1970.
    var beganAt: Int64

    package init(id: String, beganAt: Int64) {
        self.id = id
        self.beganAt = beganAt
    }

    /// Nil for a token that does not tell: not every pool's has `origin_jti`.
    package init?(_ token: VerifiedToken) {
        self.init(token.claims)
    }

    /// As ``init(_:)-(VerifiedToken)``, by a token's claims.
    init?(_ claims: JSONObject) {
        guard let id = (claims["sid"] ?? claims["origin_jti"])?.stringValue,
            let beganAt = claims["auth_time"]?.numberValue?.numericDate
        else { return nil }
        self.init(id: id, beganAt: beganAt)
    }

    init(_ sealed: SealedRefreshToken) {
        self.init(id: sealed.originID ?? Hexadecimal.encode(sealed.family), beganAt: sealed.issuedAt)
    }

    init(_ record: SessionRecord) {
        self.init(id: record.originID ?? Hexadecimal.encode(record.family), beganAt: record.signedInAt)
    }
}
