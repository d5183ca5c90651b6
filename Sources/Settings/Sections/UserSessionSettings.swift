internal import Pipeline

/// The gateway's own sessions.
package struct UserSessionSettings: Sendable {
    /// The name of the issuer that verifies them: one with the gateway's own keys.
    package var issuer: String
    /// The `aud` of the tokens.
    package var audience: String
    /// How long a token is valid.
    package var lifetime: Duration
    /// How long after that it can be refreshed.
    package var refreshWithin: Duration
    /// How long after the sign-in a session ends, however it is used.
    package var absoluteLifetime: Duration
    /// How long after the last refresh a session ends.
    package var idleLifetime: Duration
    /// The age at which the signing key is replaced.
    package var rotateEvery: Duration
    /// How long a key is published before it signs.
    package var publishAhead: Duration
}

extension UserSessionSettings {
    init?(reading keys: SettingsMapping, known: KnownNames) {
        let issuer = keys.required("issuer", .reference(to: "issuer", among: known.issuers))
        let audience = keys.sessionAudience(known, issuer)
        let day = Duration.seconds(86_400)
        let lifetime = keys.value("lifetime", .duration(.seconds(60)...day * 365), default: day * 30)
        let refreshWithin = keys.value("refresh_within", .duration(.zero...day * 7), default: day * 7)
        let absolute = keys.optional("absolute_lifetime")
        let absoluteLifetime = absolute?.read(.duration(.seconds(60)...day * 3650)) ?? max(day * 365, lifetime)
        if absoluteLifetime < lifetime { absolute?.refuse("must not be shorter than lifetime") }
        let idle = keys.optional("idle_lifetime")
        let idleLifetime = idle?.read(.duration(.seconds(60)...day * 3650)) ?? lifetime + refreshWithin
        if idleLifetime < lifetime { idle?.refuse("must not be shorter than lifetime: a token is valid for that long") }
        let ahead = keys.value("publish_ahead", .duration(.seconds(600)...day * 7), default: .seconds(3600))
        let age = keys.optional("rotate_every")
        let rotateEvery = age?.read(.duration(.seconds(3600)...day * 3650)) ?? day * 30
        if rotateEvery < ahead { age?.refuse("must not be shorter than publish_ahead") }
        guard let issuer, let audience else { return nil }
        self.init(
            issuer: issuer, audience: audience, lifetime: lifetime, refreshWithin: refreshWithin,
            absoluteLifetime: absoluteLifetime, idleLifetime: idleLifetime, rotateEvery: rotateEvery,
            publishAhead: ahead)
    }
}

extension SettingsMapping {
    /// One of the issuer's audiences, the first unless it is given.
    fileprivate func sessionAudience(_ known: KnownNames, _ name: String?) -> String? {
        let given = optional("audience")
        guard let issuer = name.flatMap(known.issuer(named:)) else { return nil }
        guard case .gatehouse(let audiences) = issuer.rules, issuer.keySource == .own else {
            fault("issuer", "must have profile: gatehouse and own_keys: true, which issuers.\(issuer.name) has not")
            return nil
        }
        guard let given else { return audiences.first }
        guard let audience = given.read(.identifier) else { return nil }
        if !audiences.contains(audience) { given.refuse("must be one of issuers.\(issuer.name).audiences") }
        return audience
    }
}
