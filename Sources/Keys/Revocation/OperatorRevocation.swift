internal import Clocks
internal import Encoding
internal import Pipeline
package import Settings
package import Store

/// Revocations by an operator. A running gateway follows within two seconds.
package struct OperatorRevocation: Sendable {
    /// The tokens to revoke, by one of their claims.
    package enum Claim: Sendable {
        /// All tokens of a subject that signed in until now.
        case subject(String)
        case originID(String)
        case tokenID(String)
        case session(String)
    }

    private let settings: GatewaySettings
    private let records: GatewayRecords
    private let now: Int64

    /// - Parameter now: seconds since 1970; nil for the present.
    package init(_ settings: GatewaySettings, _ records: GatewayRecords, now: Int64? = nil) {
        self.settings = settings
        self.records = records
        self.now = now ?? WallClock.seconds()
    }

    /// - Parameters:
    ///   - issuer: its name in the settings; nil if there is only one.
    ///   - days: the duration of the revocation, which should be as long as a revoked token can be valid.
    /// - Returns: a description of what was done.
    package func revoke(_ claim: Claim, issuer name: String?, days: Int) async throws -> String {
        let issuers = settings.trustedIssuers
        guard let issuer = name.map({ name in issuers.filter { $0.name == name } }) ?? issuers.onlyOne else {
            throw StartupError(description: "there are several issuers: say which one with --issuer")
        }
        guard let issuer = issuer.first else { throw StartupError(description: "no issuer has this name") }
        let now = time(of: issuer)
        let (target, value): (Revocation.Target, String) =
            switch claim {
            case .subject(let value): (.subject(value, before: now), value)
            case .originID(let value): (.originID(value), value)
            case .tokenID(let value): (.tokenID(value), value)
            case .session(let value): (.session(value), value)
            }
        guard Revocation.isValue(value) else {
            throw StartupError(description: "the value must be 1 to 1024 bytes, without U+0000")
        }
        let revocation = Revocation(issuer: issuer.issuer, target, endsAt: now + Int64(days) * 86_400)
        try await records.revocations.keep([RevocationRecord(revocation)])
        return "revoked at \(issuer.name) for \(days) days; a running gateway follows within two seconds"
    }
}

extension OperatorRevocation {
    /// The time by which an issuer dates its tokens, in seconds since 1970. The gateway's own sessions use the clock
    /// that all gateways share.
    private func time(of issuer: Issuer) -> Int64 {
        let clock = records.clock
        let shared = clock.sharedTime(now)
        let isOwn = issuer.name.hasSameBytes(as: settings.sessionIssuer?.name ?? "")
        let latest = isOwn ? max(shared, clock.believedTime(now)) : clock.latestTime(now)
        // A running gateway stores the reading of a clock that is behind only once a minute.
        return latest > max(shared, now) ? latest + 60 : latest
    }
}

extension [Issuer] {
    fileprivate var onlyOne: [Issuer]? { count == 1 ? self : nil }
}
