package import Pipeline

/// How long sessions of the gateway's own live, and what their tokens say. Times are in seconds.
package struct UserSessionSettings: Sendable {
    /// By which the gateway verifies them.
    package var issuer: Issuer
    /// The `aud` of the tokens; one of the issuer's.
    package var audience: String
    /// How long a token is valid.
    package var lifetime: Int64
    /// How long after that it can still be refreshed.
    package var refreshWithin: Int64
    /// How long after the sign-in the last token ends.
    package var absoluteLifetime: Int64
    /// How long after a refresh there can be another one.
    package var idleLifetime: Int64

    package init(
        issuer: Issuer, audience: String, lifetime: Int64 = 30 * 86_400, refreshWithin: Int64 = 7 * 86_400,
        absoluteLifetime: Int64 = 365 * 86_400, idleLifetime: Int64 = 37 * 86_400
    ) {
        self.issuer = issuer
        self.audience = audience
        self.lifetime = lifetime
        self.refreshWithin = refreshWithin
        self.absoluteLifetime = absoluteLifetime
        self.idleLifetime = idleLifetime
    }

    /// When a token that is made now expires.
    func expiry(authTime: Int64, now: Int64) -> Int64 {
        min(now + lifetime, authTime + absoluteLifetime)
    }

    /// When a session can be refreshed no more.
    func end(authTime: Int64, refreshedAt: Int64, expiresAt: Int64) -> Int64 {
        min(expiresAt + refreshWithin, authTime + absoluteLifetime, refreshedAt + idleLifetime)
    }

    /// How long a revocation of a session must be remembered: until no token of it is good for anything.
    var revocationLifetime: Int64 { lifetime + refreshWithin + issuer.skew + 60 }
}
