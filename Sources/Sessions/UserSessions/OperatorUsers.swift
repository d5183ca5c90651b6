internal import Clocks
internal import Cryptography
package import Keys
package import Logging
internal import Pipeline
package import Settings
package import Store

/// The users in the state directory, for an operator's commands, whether or not a gateway is running.
package enum OperatorUsers {
    /// Writes revocations to the state directory. A running gateway reads them within two seconds.
    private struct RevocationWriter: SessionRevocations {
        let records: any RevocationRecords
        var current: RevocationList { .empty }
        var hasUnstored: Bool { false }

        func revoke(_ revocations: [Revocation]) async throws {
            try await records.keep(revocations.map(RevocationRecord.init))
        }

        func supersede(_ session: SupersededSession) {}
    }

    /// - Throws: ``StartupError``, or the error that prevents the use of the state directory.
    package static func administration(
        _ settings: GatewaySettings, _ records: GatewayRecords, _ rings: KeyRings, logger: Logger
    ) async throws -> UserAdministration {
        guard let apple = settings.signIn.apple, let session = apple.session,
            let issuer = settings.sessionIssuer, let schedule = RotationSchedule.sessionKeys(settings)
        else { throw StartupError(description: "this gateway keeps no users: there is no sign_in.apple.session") }
        // Nothing is signed here, so the keys are not read.
        let keys = AssertionKeyService(
            storage: rings[.session], schedule: schedule, logger: logger, now: { WallClock.seconds() }, publish: {})
        let sessions = UserSessions(
            issuer: issuer, settings: session, users: records.users, records: records.users,
            keys: SessionKeyService(keys), sealingKeys: try await SealingKeys.ring(rings[.sealing]),
            revocations: RevocationWriter(records: records.revocations), now: { WallClock.seconds() },
            random: { SecureRandom.bytes($0) }, logger: logger)
        return UserAdministration(sessions, roles: Set(apple.signIn.roles.values))
    }
}
