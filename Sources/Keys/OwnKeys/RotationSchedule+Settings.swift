internal import Pipeline
package import Settings

extension RotationSchedule {
    /// When the keys of assertions change; nil where there are none.
    package static func assertionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        settings.identity.assertion.map { assertion in
            RotationSchedule(
                rotateEvery: assertion.rotateEvery.components.seconds,
                publishAhead: assertion.publishAhead.components.seconds,
                keepPrevious: assertion.keysStay.components.seconds)
        }
    }

    /// When the keys of sessions change; nil where there are none.
    package static func sessionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        guard settings.issuers.contains(where: { $0.keySource == .own }) else { return nil }
        let session = settings.signIn.apple?.session ?? UserSessionSettings(issuer: "", audience: "")
        return RotationSchedule(
            rotateEvery: session.rotateEvery, publishAhead: session.publishAhead, keepPrevious: session.keysStay)
    }

    /// When the keys that seal change: by command alone.
    ///
    /// - Parameter isShared: whether several gateways use them.
    package static func sealingKeys(_ settings: GatewaySettings, isShared: Bool) -> RotationSchedule {
        var lifetimes = settings.signIn.pools.flatMap {
            [$0.signIn.refreshLifetime, $0.signIn.deviceTokenLifetime]
        }
        // Apple's tokens end with their users only.
        if settings.signIn.apple?.server != nil { lifetimes.append(3650 * 86_400) }
        return RotationSchedule(
            rotateEvery: nil, publishAhead: isShared ? sharedAhead : 0, keepPrevious: lifetimes.max() ?? 30 * 86_400,
            isShared: isShared)
    }

    /// When the key that users are hashed with changes: by command alone. Those before are kept, so that what was
    /// logged can be searched for a user.
    package static func auditKeys(isShared: Bool) -> RotationSchedule {
        RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 366 * 86_400, isShared: isShared)
    }

    /// How long all gateways have known a sealing key when one of them seals with it. A gateway that cannot read the
    /// database for so long cannot answer those who bring sealed tokens either.
    private static let sharedAhead: Int64 = 600
}

extension GatewaySettings {
    /// Whether anything is sealed with keys of the gateway's own: what Sign in with Apple keeps is, and the tokens of
    /// pools that have no `sealing_keys`.
    package var sealsWithOwnKeys: Bool {
        signIn.apple != nil || signIn.pools.contains { $0.sealingKeys.isEmpty }
    }
}
