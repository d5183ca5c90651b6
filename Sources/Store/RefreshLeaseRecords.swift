/// The right to ask the identity provider for the successor of a refresh token. One gateway has it at a time.
package struct RefreshLease: Sendable, Equatable {
    /// Of the token's session, as in ``SessionRecord``.
    package var family: [UInt8]
    /// The number of the token in its session.
    package var generation: Int64
    /// Random bytes, which tell one holder from another.
    package var holder: [UInt8]

    package init(family: [UInt8], generation: Int64, holder: [UInt8]) {
        self.family = family
        self.generation = generation
        self.holder = holder
    }
}

/// The result of asking for a lease.
package enum RefreshLeaseStep: Sendable, Equatable {
    /// The caller has the lease, and the session no newer token. The session as it is; nil for one that is not stored.
    case taken(SessionRecord?)
    /// No lease is needed: one process has all sessions. Otherwise as ``taken(_:)``.
    case unshared(SessionRecord?)
    /// Someone else has the lease.
    case held
    /// The session has ended or has a newer token, and nobody is to ask: the session as it is.
    case passed(SessionRecord)
}

/// The leases by which several gateways make one call for a token.
///
/// A lease ends ``RefreshLeases/lifetime`` after it was taken or renewed, by the database's clock, so that a gateway
/// that dies holds nobody up for longer. A holder whose lease has ended may have a successor all the same: what is
/// stored is decided by ``SessionRecords/advance(to:)`` alone, which takes one successor of a token.
package protocol RefreshLeaseRecords: Sendable {
    /// Takes the lease of a session, if it is free and the token is the session's newest, as far as is known. A session
    /// that is not known has a lease too.
    func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep

    /// - Returns: false for a lease that someone else has taken in between.
    func renew(_ lease: RefreshLease) async throws -> Bool

    /// Ends a lease before its time, after a call that gave no successor. ``SessionRecords/advance(to:)`` ends it too.
    func release(_ lease: RefreshLease) async throws
}

/// The times of leases.
package enum RefreshLeases {
    /// How long a lease is good without a renewal, in seconds.
    package static let lifetime: Int64 = 10
    /// How often a holder renews it.
    package static let renewal = Duration.seconds(3)
}

/// In the records of one process there is nothing to lease: its callers share their calls among themselves.
extension SessionRecords {
    package func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep {
        let record = try await session(lease.family)
        guard let record, record.isPast(lease.generation) else { return .unshared(record) }
        return .passed(record)
    }

    package func renew(_ lease: RefreshLease) async throws -> Bool { true }

    package func release(_ lease: RefreshLease) async throws {}
}

extension SessionRecord {
    /// Whether nobody may exchange the token of this number any more.
    package func isPast(_ generation: Int64) -> Bool { endedAt != nil || self.generation > generation }
}
