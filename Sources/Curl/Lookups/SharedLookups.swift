internal import Locking
internal import NIOCore

/// Lookup results shared by all event loops. Each key has at most one lookup in progress, on the threads of
/// ``LookupThreads``.
///
/// Keys come only from the settings, so there are few, and none is ever removed.
final class SharedLookups<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct State {
        var records: [Key: LookupRecord<Value>] = [:]
        /// The callbacks for the end of a key's lookup, by ``LoopLookups``.
        var waiting: [Key: [ObjectIdentifier: @Sendable () -> Void]] = [:]
        var tally = LookupTally()
    }

    private let times: LookupTimes
    private let threads: LookupThreads
    private let look: @Sendable (Key) -> LookupResult<Value>
    private let state = Locked(State())

    /// - Parameter look: performs a lookup; it may block.
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
    ///   - asker: the identity of the caller, for ``forget(_:)``.
    ///   - ended: called once when the lookup has ended, if the reply is to wait; on any thread and under a lock.
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

    /// Removes the callbacks of `asker`.
    func forget(_ asker: ObjectIdentifier) {
        state.withLock { state in
            for key in Array(state.waiting.keys) { state.waiting[key]?[asker] = nil }
        }
    }

    private func end(_ key: Key, _ result: LookupResult<Value>) {
        state.withLock { state in
            state.records[key, default: LookupRecord()].ended(result, at: .now())
            state.tally.count(result)
            // Called under the lock, so that no callback runs after ``forget(_:)``.
            for ended in (state.waiting.removeValue(forKey: key) ?? [:]).values { ended() }
        }
    }
}

/// The number of lookups by outcome.
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
