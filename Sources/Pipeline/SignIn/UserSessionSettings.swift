/// How long sessions of the gateway's own live, and what their tokens say. Times are in seconds.
package struct UserSessionSettings: Sendable {
    /// The name of the issuer that verifies them: one with the gateway's own keys.
    package var issuer: String
    /// The `aud` of the tokens; one of the issuer's.
    package var audience: String
    /// How long a token is valid.
    package var lifetime: Int64 = 30 * 86_400
    /// How long after that it can still be refreshed.
    package var refreshWithin: Int64 = 7 * 86_400
    /// How long after the sign-in the last token ends.
    package var absoluteLifetime: Int64 = 365 * 86_400
    /// How long after a refresh there can be another one.
    package var idleLifetime: Int64 = 37 * 86_400
    /// The age at which the signing key is replaced.
    package var rotateEvery: Int64 = 30 * 86_400
    /// How long a key is published before it signs.
    package var publishAhead: Int64 = 3600

    /// How long a key stays after its last use. A token that is refreshed at the last moment must find its key.
    package var keysStay: Int64 { lifetime + refreshWithin + 86_400 }

    package init(issuer: String, audience: String) {
        self.issuer = issuer
        self.audience = audience
    }

    /// When a token that is made now expires.
    package func expiry(authTime: Int64, now: Int64) -> Int64 {
        min(now + lifetime, authTime + absoluteLifetime)
    }

    /// When a session can be refreshed no more.
    package func end(authTime: Int64, refreshedAt: Int64, expiresAt: Int64) -> Int64 {
        min(expiresAt + refreshWithin, authTime + absoluteLifetime, refreshedAt + idleLifetime)
    }
}
