package import Keys
package import Logging
internal import Pipeline
package import Settings
package import Store

extension SessionEnds {
    /// Has read which tokens have been superseded, so that none is let in after a restart.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970, by the clock of the records.
    ///   - previous: what served until now; it goes on unless the sessions' `iss` is another one.
    package static func make(
        _ settings: GatewaySettings, _ records: any UserSessionRecords, _ revocations: RevocationService,
        logger: Logger, now: @escaping @Sendable () -> Int64, after previous: SessionEnds?
    ) async throws -> SessionEnds {
        let issuer = settings.sessionIssuer?.issuer ?? ""
        if let previous, previous.issuer == issuer { return previous }
        let ends = SessionEnds(records, revocations, issuer: issuer, logger: logger, now: now)
        do {
            try await ends.follow()
        } catch {
            throw StartupError(description: "sessions cannot be read: \(error)")
        }
        return ends
    }
}
