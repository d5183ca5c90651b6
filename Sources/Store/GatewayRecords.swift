/// All records that a gateway keeps, with the clock by which they end. Services take those that they need, and know
/// nothing of the store behind them.
package struct GatewayRecords: Sendable {
    /// The sessions of users of a pool, with the names that these have signed in by.
    package let sessions: any SessionRecords & AccountNameRecords
    package let directSessions: any DirectSessionRecords
    package let passwordChanges: any PasswordChangeRecords
    /// The gateway's own users, their sessions, and what they sign in with: a sign-in is one step.
    package let users: any UserRecords & UserSessionRecords & SpentRecords & AppleTokenRecords
    package let codes: any AuthorizationCodeRecords
    package let revocations: any RevocationRecords
    package let limits: any LimitRecords
    package let outbox: any OutboxRecords
    /// Values that gateways need of each other for a while; nil where one process has the state, which knows it by itself.
    package let shortLived: (any ShortLivedRecords)?
    package let clock: any RecordClock
    /// The gateways that share the records; nil where there is one process.
    package let replicas: (any ReplicaRecords)?

    package init(
        sessions: any SessionRecords & AccountNameRecords, directSessions: any DirectSessionRecords,
        passwordChanges: any PasswordChangeRecords,
        users: any UserRecords & UserSessionRecords & SpentRecords & AppleTokenRecords,
        codes: any AuthorizationCodeRecords, revocations: any RevocationRecords, limits: any LimitRecords,
        outbox: any OutboxRecords, shortLived: (any ShortLivedRecords)?, clock: any RecordClock,
        replicas: (any ReplicaRecords)? = nil
    ) {
        self.sessions = sessions
        self.directSessions = directSessions
        self.passwordChanges = passwordChanges
        self.users = users
        self.codes = codes
        self.revocations = revocations
        self.limits = limits
        self.outbox = outbox
        self.shortLived = shortLived
        self.clock = clock
        self.replicas = replicas
    }

    /// Records in SQLite.
    init(_ store: Store) {
        sessions = StoredSessions(store)
        directSessions = StoredDirectSessions(store)
        passwordChanges = StoredPasswordChanges(store)
        users = StoredUsers(store)
        codes = StoredAuthorizationCodes(store)
        revocations = StoredRevocations(store)
        limits = StoredLimits(store)
        outbox = StoredOutbox(store)
        shortLived = nil
        clock = store
        replicas = nil
    }
}
