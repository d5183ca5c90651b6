internal import NIOCore

/// How long the result of a look-up is used.
struct LookupTimes: Sendable {
    /// A result this young is used as it is.
    var fresh: TimeAmount
    /// A result this young is used while it is looked up again; nil: always.
    var servedWhileRefreshed: TimeAmount?
    /// How long a new look-up is waited for where there is an older result.
    var patience: TimeAmount
    /// How long a failure stands before the next attempt.
    var retry: TimeAmount
}

/// The reply to whoever needs a result.
enum LookupReply<Value: Sendable>: Sendable {
    /// - Parameter until: as long as the value is fresh; in the past where it is old.
    case use(Value, until: NIODeadline)
    case fail(CurlFailure)
    /// A look-up is under way. Past the deadline an older result is used.
    case wait(until: NIODeadline?)
}

/// A look-up's outcome.
enum LookupResult<Value: Sendable>: Sendable {
    case found(Value)
    /// There is no such thing, so that what was found before is wrong by now.
    case absent(CurlFailure)
    /// The look-up itself failed. An earlier result stands.
    case failed(CurlFailure)
}

/// The state of one key: the last good result, the last failure, and whether a look-up is under way.
struct LookupRecord<Value: Sendable>: Sendable {
    private var found: (value: Value, at: NIODeadline)?
    /// Nil once a look-up has succeeded again.
    private var failure: (failure: CurlFailure, at: NIODeadline)?
    private var startedAt: NIODeadline?

    /// - Returns: the reply, and whether the caller must start a look-up. Never two are under way.
    mutating func ask(at now: NIODeadline, _ times: LookupTimes) -> (reply: LookupReply<Value>, starts: Bool) {
        if let found, failure == nil, now < found.at + times.fresh {
            return (.use(found.value, until: found.at + times.fresh), false)
        }
        let starts = startedAt == nil && failure.map { now >= $0.at + times.retry } ?? true
        if starts { startedAt = now }
        return (reply(at: now, times), starts)
    }

    private func reply(at now: NIODeadline, _ times: LookupTimes) -> LookupReply<Value> {
        guard let found else {
            if let failure, startedAt == nil { return .fail(failure.failure) }
            return .wait(until: nil)
        }
        guard failure == nil, let startedAt else { return .use(found.value, until: now) }
        guard let limit = times.servedWhileRefreshed, now >= found.at + limit else {
            return .use(found.value, until: now)
        }
        let deadline = startedAt + times.patience
        return now < deadline ? .wait(until: deadline) : .use(found.value, until: now)
    }

    mutating func ended(_ result: LookupResult<Value>, at now: NIODeadline) {
        startedAt = nil
        switch result {
        case .found(let value):
            found = (value, now)
            failure = nil
        case .absent(let failure):
            found = nil
            self.failure = (failure, now)
        case .failed(let failure):
            self.failure = (failure, now)
        }
    }
}
