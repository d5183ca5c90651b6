/// The lifetimes of the gateway's own sessions, and the claims of their tokens. Times are in seconds.
package struct UserSessionSettings: Sendable {
    /// The name of the issuer that verifies them; it has the gateway's own keys.
    package var issuer: String
    /// The `aud` of the tokens; one of the issuer's audiences.
    package var audience: String
    /// The lifetime of a token.
    package var lifetime: Int64 = 30 * 86_400
    /// The time after its expiry in which a token can still be refreshed.
    package var refreshWithin: Int64 = 7 * 86_400
    /// The time after the sign-in at which the last token expires.
    package var absoluteLifetime: Int64 = 365 * 86_400
    /// The time after a refresh in which the session can be refreshed again.
    package var idleLifetime: Int64 = 37 * 86_400
    /// The age at which the signing key is replaced.
    package var rotateEvery: Int64 = 30 * 86_400
    /// The time for which a key is published before it signs.
    package var publishAhead: Int64 = 3600

    /// The time for which a key is kept after its last use. A token that is refreshed at the last moment still needs
    /// its key.
    package var keysStay: Int64 { lifetime + refreshWithin + 86_400 }

    package init(issuer: String, audience: String) {
        self.issuer = issuer
        self.audience = audience
    }

    /// The expiry of a token that is issued at `now`.
    package func expiry(authTime: Int64, now: Int64) -> Int64 {
        min(now + lifetime, authTime + absoluteLifetime)
    }

    /// The time from which a session can no longer be refreshed.
    package func end(authTime: Int64, refreshedAt: Int64, expiresAt: Int64) -> Int64 {
        min(expiresAt + refreshWithin, authTime + absoluteLifetime, refreshedAt + idleLifetime)
    }
}
