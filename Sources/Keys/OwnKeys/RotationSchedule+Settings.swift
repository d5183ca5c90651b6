internal import Pipeline
package import Settings

extension RotationSchedule {
    /// When the keys of assertions change; nil where there are none.
    package static func assertionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        settings.identity.assertion.map { assertion in
            let ahead = assertion.publishAhead.components.seconds
            // Long enough that no clock and no process that has yet to hear of a rotation makes a difference.
            return RotationSchedule(
                rotateEvery: assertion.rotateEvery.components.seconds, publishAhead: ahead,
                keepPrevious: max(86_400, ahead))
        }
    }

    /// When the keys of sessions change; nil where there are none.
    package static func sessionKeys(_ settings: GatewaySettings) -> RotationSchedule? {
        guard settings.issuers.contains(where: { $0.keySource == .own }) else { return nil }
        let session = settings.signIn.apple?.session ?? UserSessionSettings(issuer: "", audience: "")
        return RotationSchedule(
            rotateEvery: session.rotateEvery, publishAhead: session.publishAhead,
            // A token that is exchanged at the last moment must find its key.
            keepPrevious: session.lifetime + session.refreshWithin + 86_400)
    }
}
