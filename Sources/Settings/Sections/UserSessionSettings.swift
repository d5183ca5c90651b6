internal import Pipeline
internal import SettingsReader

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
        keys.notePlace(of: "rotate_every")
        let rotateEvery = age?.read(.duration(.seconds(3600)...day * 3650)) ?? day * 30
        if rotateEvery < ahead { age?.refuse("must not be shorter than publish_ahead") }
        guard let issuer, let audience else { return nil }
        self.init(issuer: issuer, audience: audience)
        self.lifetime = lifetime.components.seconds
        self.refreshWithin = refreshWithin.components.seconds
        self.absoluteLifetime = absoluteLifetime.components.seconds
        self.idleLifetime = idleLifetime.components.seconds
        self.rotateEvery = rotateEvery.components.seconds
        self.publishAhead = ahead.components.seconds
    }
}

extension GatewaySettings {
    /// Records an error if the gateway would publish more keys than verifiers accept in one set.
    func checkPublishedKeys(_ context: SettingsContext) {
        guard let session = signIn.apple?.session, let place = context.places["sign_in.apple.session.rotate_every"]
        else { return }
        let assertionKeys = identity.assertion.map { assertion in
            Self.publishedKeys(
                staying: assertion.keysStay.components.seconds, rotatedEvery: assertion.rotateEvery.components.seconds)
        }
        let count =
            Self.publishedKeys(staying: session.keysStay, rotatedEvery: session.rotateEvery) + (assertionKeys ?? 0)
        guard count > KeySet.maximumKeys else { return }
        context.error(
            "must be longer: \(count) keys would be published, and verifiers take \(KeySet.maximumKeys); each stays for "
                + "lifetime, refresh_within and a day", at: place)
    }

    /// The number of published keys: the previous ones, the current one and the next.
    private static func publishedKeys(staying: Int64, rotatedEvery age: Int64) -> Int64 {
        (staying + age - 1) / age + 2
    }
}

extension SettingsMapping {
    /// The session's audience, one of the issuer's; by default the first.
    fileprivate func sessionAudience(_ known: KnownNames, _ name: String?) -> String? {
        let given = optional("audience")
        let audience = given?.read(.identifier)
        guard let issuer = name.flatMap(known.issuer(named:)) else { return nil }
        guard case .gatehouse(let audiences) = issuer.rules, issuer.keySource == .own else {
            error("issuer", "must have profile: gatehouse and own_keys: true, which issuers.\(issuer.name) has not")
            return nil
        }
        if let audience, !audiences.contains(audience) {
            given?.refuse("must be one of issuers.\(issuer.name).audiences")
        }
        return given == nil ? audiences.first : audience
    }
}
