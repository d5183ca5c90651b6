internal import NIOCore

/// The times for which the result of a lookup is used.
struct LookupTimes: Sendable {
    /// The age up to which a result is used without another lookup.
    var fresh: TimeAmount
    /// The age up to which a result is used while another lookup is in progress; nil: no limit.
    var servedWhileRefreshed: TimeAmount?
    /// The longest wait for a new lookup if there is an older result.
    var patience: TimeAmount
    /// The time after a failure until the next attempt.
    var retry: TimeAmount
}

/// The reply to a request for a result.
enum LookupReply<Value: Sendable>: Sendable {
    /// - Parameter until: the time until which the value is fresh; not in the future if the value is old.
    case use(Value, until: NIODeadline)
    case fail(CurlFailure)
    /// A lookup is in progress. After the deadline, an older result is used; nil if there is none.
    case wait(until: NIODeadline?)
}

/// The outcome of a lookup.
enum LookupResult<Value: Sendable>: Sendable {
    case found(Value)
    /// The key has no value; an earlier result is no longer valid.
    case absent(CurlFailure)
    /// The lookup itself failed. An earlier result stays valid.
    case failed(CurlFailure)
}

/// The state of one key: the last successful result, the last failure, and the lookup in progress.
struct LookupRecord<Value: Sendable>: Sendable {
    private var found: (value: Value, at: NIODeadline)?
    /// The last failure; nil after a successful lookup.
    private var failure: (failure: CurlFailure, at: NIODeadline)?
    private var startedAt: NIODeadline?

    /// - Returns: the reply, and whether the caller must start a lookup. At most one is in progress at a time.
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
