package import Cryptography
internal import Store

/// One key of the gateway's own, and where it is on its way.
package struct StoredKey: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Published, so that verifiers and other gateways have it when it begins to sign or seal.
        case next
        /// Signs or seals.
        case current
        /// Signs no more; what it signed or sealed is still good.
        case previous
    }

    package let id: String
    package internal(set) var state: State
    /// Seconds since 1970.
    package let createdAt: Int64
    /// When it came into its state.
    package internal(set) var since: Int64
    /// How many seconds it stays at least after its last use: the longest that a schedule said while it was in use or
    /// next, so that a shorter one takes away no key of what is still good.
    var keptFor: Int64 = 0
    /// As ``KeyPurpose`` has it: a private key in PEM, or 32 bytes.
    package let material: Secret
}

/// When the keys of a ring change, in seconds.
package struct RotationSchedule: Sendable, Equatable {
    /// The age at which a current key is replaced; nil for never.
    package var rotateEvery: Int64?
    /// How long a key must have been published before it signs, so that no verifier's copy of the set lacks it.
    package var publishAhead: Int64
    /// How long a key stays after its last use.
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
    /// Whether a ring has a next key. Whoever verifies or opens must know a key before it signs or seals: verifiers
    /// beside the gateway, and for sealing keys the other gateways. Hashes are compared, and nobody opens them.
    func keepsNext(isShared: Bool) -> Bool { publishesKeys || isShared && self == .sealing }
}

/// The keys that a rotation removes at once, with all that they signed or sealed.
package enum DiscardedKeys: Sendable {
    case none
    /// The one in use: others have it.
    case current
    /// All keys of the ring: others have read the ring.
    case all
}

/// The keys for one purpose: one current, one next where others must know it first, and those before that are still
/// needed.
package struct KeyRing: Sendable, Equatable {
    /// The next, the current, then the previous ones, newest first.
    package private(set) var keys: [StoredKey]

    package var current: StoredKey? { keys.first { $0.state == .current } }
    package var next: StoredKey? { keys.first { $0.state == .next } }

    /// Nil for keys that are no ring: with no or several current ones, several next ones, or ids that are the same.
    init?(_ keys: [StoredKey]) {
        guard keys.count(where: { $0.state == .current }) == 1, keys.count(where: { $0.state == .next }) <= 1,
            Set(keys.map(\.id)).count == keys.count
        else { return nil }
        self.keys = keys
        sort()
    }

    /// A first key, which needs no time to become known: there is no older set that verifiers could hold.
    init(first: NewKey, now: Int64) {
        keys = [first.stored(.current, at: now)]
    }

    /// When the next key may take over; nil where there is none.
    func nextIsReady(_ schedule: RotationSchedule) -> Int64? {
        next.map { $0.since + schedule.publishAhead }
    }

    /// Does what is due by `now`: a next key is made where one is needed, the current one is replaced at its age, and
    /// previous ones go when their time is over.
    ///
    /// - Returns: whether anything has changed.
    mutating func advance(
        now: Int64, _ schedule: RotationSchedule, for purpose: KeyPurpose, make: () throws -> NewKey
    ) rethrows -> Bool {
        let before = keys
        use(by: schedule)
        // By a clock that has been set back since: what is due after that time is due that much later.
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

    /// Notes for how long the keys in use are needed once others are: the longest time that was configured while they were.
    mutating func use(by schedule: RotationSchedule) {
        for index in keys.indices where keys[index].state != .previous {
            keys[index].keptFor = max(keys[index].keptFor, schedule.keepPrevious)
        }
    }

    /// Lets the next key, or a new one where there is none, take over.
    ///
    /// - Parameters:
    ///   - isShared: whether several gateways use the keys.
    ///   - discarded: the keys that go at once. Without a next key that others know, a new one takes over.
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

/// A key that has just been made.
struct NewKey {
    let id: String
    let material: Secret

    func stored(_ state: StoredKey.State, at now: Int64) -> StoredKey {
        StoredKey(id: id, state: state, createdAt: now, since: now, material: material)
    }
}
