package import Cryptography
internal import Store

/// One of the gateway's own keys, and its state in the rotation.
package struct StoredKey: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Published, so that verifiers and other gateways have it when it begins to sign or seal.
        case next
        /// Signs or seals.
        case current
        /// No longer signs or seals; what it signed or sealed is still valid.
        case previous
    }

    package let id: String
    package internal(set) var state: State
    /// Seconds since 1970.
    package let createdAt: Int64
    /// The time at which it entered its state, in seconds since 1970.
    package internal(set) var since: Int64
    /// The minimum time for which it is kept after its last use, in seconds: the longest of all schedules while it was
    /// current or next, so that a shorter schedule removes no key that is still needed.
    var keptFor: Int64 = 0
    /// The key in the format of its ``KeyPurpose``: a private key in PEM, or 32 bytes.
    package let material: Secret
}

/// The schedule for changes of a ring's keys. Times are in seconds.
package struct RotationSchedule: Sendable, Equatable {
    /// The age at which a current key is replaced; nil for never.
    package var rotateEvery: Int64?
    /// The time for which a key must have been published before it signs, so that no verifier's copy of the set lacks
    /// it.
    package var publishAhead: Int64
    /// The time for which a key is kept after its last use.
    var keepPrevious: Int64
    /// Whether several gateways use the keys.
    var isShared: Bool

    package init(rotateEvery: Int64?, publishAhead: Int64, keepPrevious: Int64, isShared: Bool = false) {
        self.rotateEvery = rotateEvery
        self.publishAhead = publishAhead
        self.keepPrevious = keepPrevious
        self.isShared = isShared
    }
}

extension KeyPurpose {
    /// Whether a ring has a next key. A key must be known before it signs or seals: to verifiers outside the gateway,
    /// and for sealing keys to the other gateways. Hashes are only compared, so nobody must know their key.
    func keepsNext(isShared: Bool) -> Bool { publishesKeys || isShared && self == .sealing }
}

/// The keys that a rotation removes at once, which invalidates all that they signed or sealed.
package enum DiscardedKeys: Sendable {
    case none
    /// The current key: others have obtained it.
    case current
    /// All keys of the ring: others have read the ring.
    case all
}

/// The keys for one purpose: one current key, one next key if others must know it first, and the previous keys that are
/// still needed.
package struct KeyRing: Sendable, Equatable {
    /// The next key, the current key, then the previous keys, newest first.
    package private(set) var keys: [StoredKey]

    package var current: StoredKey? { keys.first { $0.state == .current } }
    package var next: StoredKey? { keys.first { $0.state == .next } }

    /// Nil if the keys are not a ring: none or several are current, several are next, or IDs are repeated.
    init?(_ keys: [StoredKey]) {
        guard keys.count(where: { $0.state == .current }) == 1, keys.count(where: { $0.state == .next }) <= 1,
            Set(keys.map(\.id)).count == keys.count
        else { return nil }
        self.keys = keys
        sort()
    }

    /// A ring with a first key, which is used at once: there is no older set that verifiers could hold.
    init(first: NewKey, now: Int64) {
        keys = [first.stored(.current, at: now)]
    }

    /// The time from which the next key may take over; nil if there is none.
    func nextIsReady(_ schedule: RotationSchedule) -> Int64? {
        next.map { $0.since + schedule.publishAhead }
    }

    /// Performs what is due at `now`: creates a next key if one is needed, replaces a current key that has reached its
    /// age, and removes previous keys that were kept long enough.
    ///
    /// - Returns: whether anything has changed.
    mutating func advance(
        now: Int64, _ schedule: RotationSchedule, for purpose: KeyPurpose, make: () throws -> NewKey
    ) rethrows -> Bool {
        let before = keys
        use(by: schedule)
        // If the clock was set back, later times become `now`, which delays what is due after them.
        for index in keys.indices where keys[index].since > now { keys[index].since = now }
        let keepsNext = purpose.keepsNext(isShared: schedule.isShared)
        if let age = schedule.rotateEvery, let current, now - current.since >= age,
            !keepsNext || nextIsReady(schedule).map({ $0 <= now }) == true
        {
            try rotate(now: now, for: purpose, isShared: schedule.isShared, make: make)
        }
        keys.removeAll { $0.state == .previous && now - $0.since >= max($0.keptFor, schedule.keepPrevious) }
        if keepsNext, next == nil { keys.append(try make().stored(.next, at: now)) }
        use(by: schedule)
        sort()
        return keys != before
    }

    /// Records for how long the keys in use must be kept afterwards: the longest time configured while they are in use.
    mutating func use(by schedule: RotationSchedule) {
        for index in keys.indices where keys[index].state != .previous {
            keys[index].keptFor = max(keys[index].keptFor, schedule.keepPrevious)
        }
    }

    /// Makes the next key current, or a new one if there is none.
    ///
    /// - Parameters:
    ///   - isShared: whether several gateways use the keys.
    ///   - discarded: the keys to remove at once. If there is no next key, or all are removed, a new key takes over.
    mutating func rotate(
        now: Int64, for purpose: KeyPurpose, isShared: Bool = false, discarding discarded: DiscardedKeys = .none,
        make: () throws -> NewKey
    ) rethrows {
        let successor = try (discarded == .all ? nil : next) ?? make().stored(.current, at: now)
        let following = try purpose.keepsNext(isShared: isShared) ? make().stored(.next, at: now) : nil
        switch discarded {
        case .none: keys.removeAll { $0.id == successor.id }
        case .current: keys.removeAll { $0.id == successor.id || $0.state == .current }
        case .all: keys = []
        }
        for index in keys.indices where keys[index].state == .current {
            keys[index].state = .previous
            keys[index].since = now
        }
        var current = successor
        current.state = .current
        current.since = now
        keys += [current] + [following].compactMap { $0 }
        sort()
    }

    private mutating func sort() {
        let order: [StoredKey.State] = [.next, .current, .previous]
        keys.sort { one, other in
            let places = (order.firstIndex(of: one.state) ?? 0, order.firstIndex(of: other.state) ?? 0)
            return places.0 != places.1 ? places.0 < places.1 : one.since > other.since
        }
    }
}

/// A newly created key.
struct NewKey {
    let id: String
    let material: Secret

    func stored(_ state: StoredKey.State, at now: Int64) -> StoredKey {
        StoredKey(id: id, state: state, createdAt: now, since: now, material: material)
    }
}
