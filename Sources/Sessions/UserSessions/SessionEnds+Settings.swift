package import Keys
package import Logging
internal import Pipeline
package import Settings
package import Store

extension SessionEnds {
    /// Returns an instance that has read the superseded tokens, so that none is accepted after a restart.
    ///
    /// - Parameters:
    ///   - now: seconds since 1970, by the records' clock.
    ///   - previous: the instance before a reload; it is returned unless the sessions' `iss` has changed.
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
