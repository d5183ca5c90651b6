internal import NIOCore

/// An event loop's copies of the results in ``SharedLookups``: a fresh result is returned without a lock. Used only on
/// its loop.
final class LoopLookups<Key: Hashable & Sendable, Value: Sendable> {
    private let shared: SharedLookups<Key, Value>
    private let eventLoop: any EventLoop
    private var copies: [Key: (value: Value, until: NIODeadline)] = [:]
    private var timers: [Key: Scheduled<Void>] = [:]
    /// Called on the loop when a key has a new result, or the wait for one has ended.
    var changed: (Key) -> Void = { _ in }

    init(_ shared: SharedLookups<Key, Value>, eventLoop: any EventLoop) {
        self.shared = shared
        self.eventLoop = eventLoop
    }

    /// Returns the result for a key. After ``LookupReply/wait(until:)``, ``changed`` is called later.
    func ask(_ key: Key) -> LookupReply<Value> {
        let now = NIODeadline.now()
        if let copy = copies[key], now < copy.until { return .use(copy.value, until: copy.until) }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        let reply = shared.ask(key, at: now, for: ObjectIdentifier(self)) { [eventLoop] in
            eventLoop.execute { bound.value.ended(key) }
        }
        switch reply {
        case .use(let value, let until): copies[key] = (value, until)
        case .fail: copies[key] = nil
        case .wait(let deadline): if let deadline { wait(for: key, until: deadline) }
        }
        return reply
    }

    private func wait(for key: Key, until deadline: NIODeadline) {
        guard timers[key] == nil else { return }
        let bound = NIOLoopBound(self, eventLoop: eventLoop)
        timers[key] = eventLoop.scheduleTask(deadline: deadline) { bound.value.ended(key) }
    }

    private func ended(_ key: Key) {
        timers.removeValue(forKey: key)?.cancel()
        changed(key)
    }

    func close() {
        shared.forget(ObjectIdentifier(self))
        for timer in timers.values { timer.cancel() }
        timers.removeAll()
        changed = { _ in }
    }
}
