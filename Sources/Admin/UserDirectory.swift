internal import Accounts
internal import Encoding
internal import Keys
internal import Pipeline
internal import Proxy
internal import Sessions
internal import Settings

/// The users and sessions that one reading of the settings gives an operator to look at.
struct UserDirectory: Sendable {
    /// A user pool whose sessions are kept here.
    struct Pool: Sendable {
        /// The issuer's name in the settings.
        var issuer: String
        var sessions: OperatorSessions
    }

    /// The users who sign in with Apple; nil where none are kept.
    let own: UserAdministration?
    /// The name of the issuer of their sessions.
    let ownIssuer: String?
    let pools: [Pool]
    /// Those whose tokens count somewhere.
    let issuers: [Issuer]
    let revocations: RevocationService
    let audit: AuditTrail?
    /// For how many seconds a refresh may still bring tokens of a sign-in, the longest of all pools.
    let longestRefresh: Int64

    /// Nil where no tokens are taken.
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
        // The records of a pool are the same for all its app clients.
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

    /// Whether there is an issuer of this name, or none is asked for.
    func knows(issuer name: String?) -> Bool { name == nil || issuers.contains { Self.means(name, $0.name) } }

    /// Whether who asked for the issuer of this name, or for any, meant this one.
    static func means(_ name: String?, _ issuer: String) -> Bool { name.map { $0.hasSameBytes(as: issuer) } ?? true }

    /// Those that are meant, whose sessions are not the gateway's own.
    func others(named name: String?) -> [Issuer] {
        issuers.filter { $0.name != ownIssuer && Self.means(name, $0.name) }
    }
}
