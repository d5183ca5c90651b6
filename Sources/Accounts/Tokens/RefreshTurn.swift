internal import Locking
internal import Logging
internal import Pipeline
internal import Store

/// The turn to exchange a token at the identity provider, across all gateways.
enum RefreshTurn: Sendable {
    /// The caller may exchange the token. The lease is nil if no other gateway shares the records, and the record is
    /// nil for a session that is not stored.
    case own(RefreshLease?, SessionRecord?)
    /// Nobody may: the token has a successor, or its session has ended.
    case past(SessionRecord)
    /// Another gateway has the turn, and takes longer than a client waits.
    case others
}

/// Coordinates turns by leases: see ``RefreshLeaseRecords``.
struct RefreshTurns: Sendable {
    let records: any RefreshLeaseRecords
    /// Returns after this time, or throws when the task is cancelled.
    let pause: @Sendable (Duration) async throws -> Void

    private let releasing = Releases()

    /// The number of leases that are being released in the background.
    private final class Releases: Sendable {
        let count = Locked(0)
    }

    /// The pauses between checks of another gateway's lease. A call to Cognito takes some hundred milliseconds. The
    /// total is 5 s.
    static let pauses =
        Array(repeating: Duration.milliseconds(50), count: 4) + Array(repeating: .milliseconds(100), count: 8)
        + Array(repeating: .milliseconds(250), count: 16)

    /// While the database is unavailable each refresh fails: leases beyond this number are left to expire.
    static let releasesAtOnce = 64

    /// The pauses before each try to release a lease.
    static let releases = [Duration.zero, .milliseconds(100), .milliseconds(400), .seconds(1), .seconds(2)]

    /// Waits for the turn of a token while another gateway has it.
    ///
    /// - Throws: the error of the records, or `CancellationError`.
    func turn(_ lease: RefreshLease, _ logger: Logger) async throws -> RefreshTurn {
        var pauses = Self.pauses[...]
        while true {
            let step: RefreshLeaseStep
            do {
                step = try await records.take(lease)
            } catch {
                // The lease may have been stored before the connection was lost.
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

    /// Runs `work` while renewing the lease. The loss of the lease does not end the work: its call is in progress, and
    /// its result is stored unless there is another successor.
    ///
    /// - Parameter lease: released if `work` throws; nil: there is none.
    func holding<Value: Sendable>(
        _ lease: RefreshLease?, _ logger: Logger, _ work: () async throws(Refusal) -> Value
    ) async throws(Refusal) -> Value {
        guard let lease else { return try await work() }
        // A separate task, since it must run until the work ends.
        let renewal = Task { await renew(lease, logger) }
        defer { renewal.cancel() }
        do {
            return try await work()
        } catch {
            await release(lease, logger)
            throw error
        }
    }

    /// Releases a lease that may be stored and is not needed. The client, which tries again, does not wait for that:
    /// the database may be unavailable.
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
            // It expires.
            logger.warning("the lease of a refresh could not be released", metadata: ["error": "\(error)"])
        }
    }
}

extension CognitoAccounts {
    /// Runs `work` for one caller of a session at a time, across all gateways.
    ///
    /// - Parameters:
    ///   - deviceID: as in ``RefreshSessions/standing(of:on:)``.
    ///   - work: exchanges the given token, which is the client's or replaces it, and stores the result. Its second
    ///     parameter is whether the session may begin with the result, which is true for one that is not stored.
    /// - Returns: the result of `work`, or the response that the token returned before.
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

    /// Runs `work` with the lease, and releases the lease unless the stored result has ended it.
    ///
    /// - Parameter work: stores its result, which ends the lease; or returns a result that is not stored, or was stored
    ///   before.
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
