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
        let session = settings.signIn.apple?.session
        let day: Int64 = 86_400
        let lifetime = (session?.lifetime ?? .seconds(30 * day)).components.seconds
        let refreshWithin = (session?.refreshWithin ?? .seconds(7 * day)).components.seconds
        return RotationSchedule(
            rotateEvery: (session?.rotateEvery ?? .seconds(30 * day)).components.seconds,
            publishAhead: (session?.publishAhead ?? .seconds(3600)).components.seconds,
            // A token that is exchanged at the last moment must find its key.
            keepPrevious: lifetime + refreshWithin + day)
    }
}
