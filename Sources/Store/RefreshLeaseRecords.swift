/// The right to request the successor of a refresh token from the identity provider. One gateway holds it at a time.
package struct RefreshLease: Sendable, Equatable {
    /// The family of the token's session, as in ``SessionRecord``.
    package var family: [UInt8]
    /// The number of the token in its session.
    package var generation: Int64
    /// Random bytes that identify the holder.
    package var holder: [UInt8]

    package init(family: [UInt8], generation: Int64, holder: [UInt8]) {
        self.family = family
        self.generation = generation
        self.holder = holder
    }
}

/// The result of requesting a lease.
package enum RefreshLeaseStep: Sendable, Equatable {
    /// The caller has the lease and the session has no newer token. The stored session; nil if it is not stored.
    case taken(SessionRecord?)
    /// No lease is needed because one process has all sessions. Otherwise as ``taken(_:)``.
    case unshared(SessionRecord?)
    /// Another caller has the lease.
    case held
    /// The session has ended or has a newer token, so no request must be made. The stored session.
    case passed(SessionRecord)
}

/// The leases with which several gateways make one request for a token.
///
/// A lease ends ``RefreshLeases/lifetime`` after it was taken or renewed, by the database's clock, so that a gateway
/// that dies blocks nobody for longer. A holder whose lease has ended may still obtain a successor: only
/// ``SessionRecords/advance(to:)`` decides which is stored, and it accepts one successor of a token.
package protocol RefreshLeaseRecords: Sendable {
    /// Takes the lease of a session, if it is free and no newer token of the session is known. An unknown session can
    /// be leased too.
    func take(_ lease: RefreshLease) async throws -> RefreshLeaseStep

    /// - Returns: false if another caller has taken the lease meanwhile.
    func renew(_ lease: RefreshLease) async throws -> Bool

    /// Ends a lease early, after a request that returned no successor. ``SessionRecords/advance(to:)`` ends it too.
    func release(_ lease: RefreshLease) async throws
}

/// The times of leases.
package enum RefreshLeases {
    /// The number of seconds for which a lease is valid without a renewal.
    package static let lifetime: Int64 = 10
    /// The interval at which a holder renews its lease.
    package static let renewal = Duration.seconds(3)
}

/// In one process no leases are needed: its callers share their requests.
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
    /// Whether the token of this number must not be exchanged any more.
    package func isPast(_ generation: Int64) -> Bool { endedAt != nil || self.generation > generation }
}
