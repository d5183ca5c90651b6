internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// The turn to ask the identity provider for the successor of a token, over all gateways.
enum RefreshTurn: Sendable {
    /// It is the caller's. The lease is nil where no other gateway can ask, and the session where it is not stored.
    case own(RefreshLease?, SessionRecord?)
    /// It is nobody's: the token has a successor, or its session has ended.
    case past(SessionRecord)
    /// It is another gateway's, which took longer than a client waits.
    case others
}

/// Takes turns by leases: see ``RefreshLeaseRecords``.
struct RefreshTurns: Sendable {
    let records: any RefreshLeaseRecords
    /// Returns after this time, or throws when the task is cancelled.
    let pause: @Sendable (Duration) async throws -> Void

    private let releasing = Releases()

    /// How many leases are released in the background.
    private final class Releases: Sendable {
        let count = Locked(0)
    }

    /// The time between two looks at another gateway's lease. A call to Cognito takes some hundred milliseconds. All in
    /// all 5 s.
    static let pauses =
        Array(repeating: Duration.milliseconds(50), count: 4) + Array(repeating: .milliseconds(100), count: 8)
        + Array(repeating: .milliseconds(250), count: 16)

    /// While the database is away each refresh fails: more leases than these end by themselves.
    static let releasesAtOnce = 64

    /// The times between two tries to release a lease.
    static let releases = [Duration.zero, .milliseconds(100), .milliseconds(400), .seconds(1), .seconds(2)]

    /// Waits for the turn of a token, and for a gateway that has it.
    ///
    /// - Throws: the error of the records, and `CancellationError`.
    func turn(_ lease: RefreshLease, _ logger: Logger) async throws -> RefreshTurn {
        var pauses = Self.pauses[...]
        while true {
            let step: RefreshLeaseStep
            do {
                step = try await records.take(lease)
            } catch {
                // It may have been taken before the connection was lost.
                letGo(lease, logger)
                throw error
            }
            switch step {
            case .taken(let record): return .own(lease, record)
            case .unshared(let record): return .own(nil, record)
            case .passed(let record): return .past(record)
            case .held: break
            }
            guard let next = pauses.popFirst() else { return .others }
            try await pause(next)
        }
    }

    /// Runs `work` while the lease is renewed. A lease that is lost meanwhile does not end it: its call is on the way,
    /// and what it brings is stored unless another successor is there.
    ///
    /// - Parameter lease: released if `work` throws; nil: there is none.
    func holding<Value: Sendable>(
        _ lease: RefreshLease?, _ logger: Logger, _ work: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        guard let lease else { return try await work() }
        // Beside the work, in whose task it must not end before.
        let renewal = Task { await renew(lease, logger) }
        defer { renewal.cancel() }
        do {
            return try await work()
        } catch {
            await release(lease, logger)
            throw error
        }
    }

    /// Releases a lease that may be stored and has no call. The client, which tries again, does not wait for that: the
    /// database may be away.
    func letGo(_ lease: RefreshLease, _ logger: Logger) {
        let isOneMore = releasing.count.withLock { count in
            guard count < Self.releasesAtOnce else { return false }
            count += 1
            return true
        }
        guard isOneMore else { return }
        Task {
            defer { releasing.count.withLock { $0 -= 1 } }
            for pause in Self.releases {
                do {
                    try await self.pause(pause)
                    return try await records.release(lease)
                } catch {
                    logger.debug("the lease of a refresh is not released yet", metadata: ["error": "\(error)"])
                }
            }
        }
    }

    private func renew(_ lease: RefreshLease, _ logger: Logger) async {
        while true {
            do {
                try await pause(RefreshLeases.renewal)
                guard try await records.renew(lease) else {
                    return logger.warning("a refresh takes so long that another gateway may repeat it")
                }
            } catch {
                guard !Task.isCancelled else { return }
                logger.warning("the lease of a refresh could not be renewed", metadata: ["error": "\(error)"])
            }
        }
    }

    private func release(_ lease: RefreshLease, _ logger: Logger) async {
        do {
            try await records.release(lease)
        } catch {
            // It ends by itself.
            logger.warning("the lease of a refresh could not be released", metadata: ["error": "\(error)"])
        }
    }
}

extension CognitoAccounts {
    /// Has one caller at a time ask Cognito for a session, over all gateways.
    ///
    /// - Parameters:
    ///   - deviceID: as in ``RefreshSessions/standing(of:on:)``.
    ///   - work: asks with a token, which is the one that is shown or stands for it, and keeps what comes of it. It is
    ///     also told whether the session may begin with that, as one that is not stored may.
    /// - Returns: the result of `work`, or the answer that was given for the token before.
    func inTurn(
        _ sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest,
        _ work: (SealedRefreshToken, _ mayBegin: Bool) async throws(Refusal) -> RefreshedSession
    ) async throws(Refusal) -> RefreshedSession {
        try await flights.sessions.alone(sealed.family) { () async throws(Refusal) in
            switch try await turn(sealed.family, sealed.generation, request) {
            case .own(let lease, let record):
                let isUnknown = if case nil = record { true } else { false }
                return try await holding(lease) { () async throws(Refusal) in
                    try await work(current(sealed, in: record, request), isUnknown)
                }
            case .past(let record):
                let standing = sessions.standing(of: sealed.generation, on: deviceID, in: record)
                guard let session = try await judge(standing, sealed, on: deviceID, request) else {
                    throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
                }
                return session
            case .others: throw refreshUnderWay(request)
            }
        }
    }

    /// - Parameter generation: of the session's newest token, as far as the caller knows.
    func turn(
        _ family: [UInt8], _ generation: Int64, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshTurn {
        let lease = RefreshLease(family: family, generation: generation, holder: random(16))
        return try await withRecords(request) { try await turns.turn(lease, logger) }
    }

    /// - Parameter work: keeps what it returns, which ends the lease; or returns what is not stored, or was before.
    func holding(
        _ lease: RefreshLease?, _ work: () async throws(Refusal) -> RefreshedSession
    ) async throws(Refusal) -> RefreshedSession {
        let session = try await turns.holding(lease, logger, work)
        if let lease, !session.isStored || session.isGivenAgain { turns.letGo(lease, logger) }
        return session
    }

    func refreshUnderWay(_ request: AccountRequest) -> Refusal {
        logger.warning(
            "another gateway's refresh of the same token takes too long",
            metadata: ["request_id": "\(request.requestID)"])
        return .retryLater(.serviceUnavailable, after: 5, reason: .account(.refreshUnderWay))
    }
}
