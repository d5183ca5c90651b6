internal import Accounts
internal import Encoding
internal import Keys
internal import Pipeline
internal import Proxy
internal import Sessions
internal import Settings

/// The users and sessions of one configuration snapshot, for operators.
struct UserDirectory: Sendable {
    /// A user pool whose sessions are stored here.
    struct Pool: Sendable {
        /// The issuer's name in the settings.
        var issuer: String
        var sessions: OperatorSessions
    }

    /// The users who sign in with Apple; nil if none are stored.
    let own: UserAdministration?
    /// The name of the issuer of their sessions; nil if none are stored.
    let ownIssuer: String?
    let pools: [Pool]
    /// All issuers whose tokens are accepted.
    let issuers: [Issuer]
    let revocations: RevocationService
    let audit: AuditTrail?
    /// The longest time of all pools, in seconds, for which a refresh may still yield tokens of a sign-in.
    let longestRefresh: Int64

    /// Nil if no tokens are accepted.
    init?(_ snapshot: ConfigurationSnapshot) {
        let plan = snapshot.plan
        guard let revocations = plan.revocations else { return nil }
        self.revocations = revocations
        audit = plan.audit
        issuers = plan.gate.verifier.issuers
        let sessions = plan.sessions?.sessions
        let roles = snapshot.settings.signIn.apple?.signIn.roles ?? [:]
        own = sessions.map { UserAdministration($0, roles: Set(roles.values)) }
        ownIssuer = sessions.map { $0.issuer.name }
        let accounts = plan.accounts.flatMap(\.members).map(\.accounts)
        var pools: [Pool] = []
        // All app clients of a pool share its records.
        for (index, first) in accounts.enumerated() {
            let poolID = first.settings.poolID
            guard !accounts[..<index].contains(where: { $0.settings.poolID == poolID }),
                let sessions = OperatorSessions(accounts.filter { $0.settings.poolID == poolID })
            else { continue }
            let issuer = issuers.first { $0.issuer == first.settings.issuer }
            pools.append(Pool(issuer: issuer?.name ?? poolID, sessions: sessions))
        }
        self.pools = pools
        longestRefresh = accounts.map(\.settings.refreshLifetime).max() ?? 0
    }

    /// Whether an issuer has this name; also true if the name is nil.
    func knows(issuer name: String?) -> Bool { name == nil || issuers.contains { Self.means(name, $0.name) } }

    /// Whether a requested issuer name selects `issuer`. Nil selects every issuer.
    static func means(_ name: String?, _ issuer: String) -> Bool { name.map { $0.hasSameBytes(as: issuer) } ?? true }

    /// The selected issuers, except that of the gateway's own sessions.
    func others(named name: String?) -> [Issuer] {
        issuers.filter { $0.name != ownIssuer && Self.means(name, $0.name) }
    }
}
