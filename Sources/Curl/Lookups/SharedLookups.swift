internal import Locking
internal import NIOCore

/// Results that all event loops share. Each key is looked up once at a time, on the threads of ``LookupThreads``.
///
/// Keys come from the settings alone, so that there are few and none is ever forgotten.
final class SharedLookups<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var records: [Key: LookupRecord<Value>] = [:]
        /// Whom to call when a key's look-up has ended, by ``LoopLookups``.
        var waiting: [Key: [ObjectIdentifier: @Sendable () -> Void]] = [:]
        var tally = LookupTally()
    }

    private let times: LookupTimes
    private let threads: LookupThreads
    private let look: @Sendable (Key) -> LookupResult<Value>
    private let state = Locked(State())

    /// - Parameter look: may block.
    init(
        _ times: LookupTimes, on threads: LookupThreads,
        look: @escaping @Sendable (Key) -> LookupResult<Value>
    ) {
        self.times = times
        self.threads = threads
        self.look = look
    }

    var tally: LookupTally { state.withLock { $0.tally } }

    /// - Parameters:
    ///   - asker: who waits, where the reply is to wait.
    ///   - ended: called once when the look-up has ended, on any thread and under a lock.
    func ask(
        _ key: Key, at now: NIODeadline, for asker: ObjectIdentifier, ended: @escaping @Sendable () -> Void
    ) -> LookupReply<Value> {
        let (reply, starts) = state.withLock { state in
            let (reply, starts) = state.records[key, default: LookupRecord()].ask(at: now, times)
            if case .wait = reply { state.waiting[key, default: [:]][asker] = ended }
            return (reply, starts)
        }
        if starts, !threads.run({ [self] in end(key, look(key)) }) {
            end(key, .failed(CurlFailure(kind: .resource, description: "no thread")))
        }
        return reply
    }

    /// Calls nobody for `asker` from now on.
    func forget(_ asker: ObjectIdentifier) {
        state.withLock { state in
            for key in Array(state.waiting.keys) { state.waiting[key]?[asker] = nil }
        }
    }

    private func end(_ key: Key, _ result: LookupResult<Value>) {
        state.withLock { state in
            state.records[key, default: LookupRecord()].ended(result, at: .now())
            state.tally.count(result)
            // Under the lock, so that nobody is called after ``forget(_:)``.
            for ended in (state.waiting.removeValue(forKey: key) ?? [:]).values { ended() }
        }
    }
}

/// How look-ups have ended.
package struct LookupTally: Sendable {
    package private(set) var found = 0
    package private(set) var absent = 0
    package private(set) var failed = 0

    mutating func count<Value>(_ result: LookupResult<Value>) {
        switch result {
        case .found: found += 1
        case .absent: absent += 1
        case .failed: failed += 1
        }
    }
}
