internal import Cryptography
internal import Encoding
package import Pipeline
internal import Store

/// The session of a call, as named by its token.
package struct CalledSession: Sendable, Equatable {
    /// The unique ID of the session.
    package var id: String
    /// The time of the user's sign-in, in seconds since 1970.
    var beganAt: Int64

    package init(id: String, beganAt: Int64) {
        self.id = id
        self.beganAt = beganAt
    }

    /// nil if the token does not name its session: not every pool's tokens have `origin_jti`.
    package init?(_ token: VerifiedToken) {
        self.init(token.claims)
    }

    /// As ``init(_:)-(VerifiedToken)``, from a token's claims.
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
