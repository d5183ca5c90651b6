internal import Pipeline
package import Settings

extension RotationSchedule {
    /// The schedule for the keys of assertions; nil if there are none.
    package static func assertionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        settings.identity.assertion.map { assertion in
            RotationSchedule(
                rotateEvery: assertion.rotateEvery.components.seconds,
                publishAhead: assertion.publishAhead.components.seconds,
                keepPrevious: assertion.keysStay.components.seconds)
        }
    }

    /// The schedule for the keys of sessions; nil if there are none.
    package static func sessionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        guard settings.issuers.contains(where: { $0.keySource == .own }) else { return nil }
        let session = settings.signIn.apple?.session ?? UserSessionSettings(issuer: "", audience: "")
        return RotationSchedule(
            rotateEvery: session.rotateEvery, publishAhead: session.publishAhead, keepPrevious: session.keysStay)
    }

    /// The schedule for sealing keys, which only a command rotates.
    ///
    /// - Parameter isShared: whether several gateways use them.
    package static func sealingKeys(_ settings: GatewaySettings, isShared: Bool) -> RotationSchedule {
        var lifetimes = settings.signIn.pools.flatMap {
            [$0.signIn.refreshLifetime, $0.signIn.deviceTokenLifetime]
        }
        // Apple's tokens end only with their users.
        if settings.signIn.apple?.server != nil { lifetimes.append(3650 * 86_400) }
        return RotationSchedule(
            rotateEvery: nil, publishAhead: isShared ? sharedAhead : 0, keepPrevious: lifetimes.max() ?? 30 * 86_400,
            isShared: isShared)
    }

    /// The schedule for the key that hashes users in the audit log, which only a command rotates. Previous keys are
    /// kept, so that the log can be searched for a user.
    package static func auditKeys(isShared: Bool) -> RotationSchedule {
        RotationSchedule(rotateEvery: nil, publishAhead: 0, keepPrevious: 366 * 86_400, isShared: isShared)
    }

    /// The time for which all gateways have known a sealing key before one of them seals with it. A gateway that cannot
    /// read the database for this time cannot serve clients with sealed tokens either.
    private static let sharedAhead: Int64 = 600
}

extension GatewaySettings {
    /// Whether the gateway's own keys seal anything: the stored data of Sign in with Apple, or the tokens of pools
    /// without `sealing_keys`.
    package var sealsWithOwnKeys: Bool {
        signIn.apple != nil || signIn.pools.contains { $0.sealingKeys.isEmpty }
    }
}
