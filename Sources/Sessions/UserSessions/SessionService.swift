internal import Clocks
package import Keys
package import Logging
internal import Pipeline
package import Settings
package import Store

/// The parts of the gateway's own sessions that outlast reloads.
package struct SessionService: Sendable {
    package let users: StoredUsers
    package let ends: SessionEnds
    /// The `iss` of the sessions.
    let issuer: String
}

extension SessionService {
    /// Has read which tokens have been superseded, so that none is let in after a restart.
    ///
    /// - Parameter previous: what served until now.
    package static func make(
        _ settings: GatewaySettings, _ store: Store, _ revocations: RevocationService, logger: Logger,
        after previous: SessionService?
    ) async throws -> SessionService {
        let issuer = settings.sessionIssuer?.issuer ?? ""
        if let previous, previous.issuer == issuer { return previous }
        let users = previous?.users ?? StoredUsers(store)
        let ends = SessionEnds(users, revocations, issuer: issuer, logger: logger) { WallClock.seconds() }
        do {
            try await ends.follow()
        } catch {
            throw StartupError(description: "sessions cannot be read: \(error)")
        }
        return SessionService(users: users, ends: ends, issuer: issuer)
    }
}
