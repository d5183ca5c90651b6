/// All records of a gateway, and the clock by which they expire. Services receive the records they need and do not know
/// the store behind them.
package struct GatewayRecords: Sendable {
    /// The sessions of a pool's users, and the names with which these have signed in.
    package let sessions: any SessionRecords & AccountNameRecords
    package let directSessions: any DirectSessionRecords
    package let passwordChanges: any PasswordChangeRecords
    /// The gateway's own users, their sessions, and their sign-in proofs: a sign-in is one transaction.
    package let users: any UserRecords & UserSessionRecords & SingleUseRecords & AppleTokenRecords
    package let codes: any AuthorizationCodeRecords
    package let revocations: any RevocationRecords
    package let limits: any LimitRecords
    package let outbox: any OutboxRecords
    /// Values that gateways share for a limited time; nil if one process has the whole state.
    package let shortLived: (any ShortLivedRecords)?
    package let clock: any RecordClock
    /// The gateways that share the records; nil if there is one process.
    package let replicas: (any ReplicaRecords)?

    package init(
        sessions: any SessionRecords & AccountNameRecords, directSessions: any DirectSessionRecords,
        passwordChanges: any PasswordChangeRecords,
        users: any UserRecords & UserSessionRecords & SingleUseRecords & AppleTokenRecords,
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
