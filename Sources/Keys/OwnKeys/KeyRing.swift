package import Cryptography
internal import Store

/// One key of the gateway's own, and where it is on its way.
package struct StoredKey: Sendable, Equatable {
    package enum State: String, Sendable {
        /// Published, so that verifiers have it when it begins to sign.
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

    package init(rotateEvery: Int64?, publishAhead: Int64, keepPrevious: Int64) {
        self.rotateEvery = rotateEvery
        self.publishAhead = publishAhead
        self.keepPrevious = keepPrevious
    }
}

/// The keys for one purpose: one current, one next where keys are published, and those before that are still needed.
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
        // By a clock that has been set back since: what is due after that time is due that much later.
        for index in keys.indices where keys[index].since > now { keys[index].since = now }
        if let age = schedule.rotateEvery, let current, now - current.since >= age,
            !purpose.publishesKeys || nextIsReady(schedule).map({ $0 <= now }) == true
        {
            try rotate(now: now, for: purpose, make: make)
        }
        keys.removeAll { $0.state == .previous && now - $0.since >= schedule.keepPrevious }
        if purpose.publishesKeys, next == nil { keys.append(try make().stored(.next, at: now)) }
        sort()
        return keys != before
    }

    /// Lets the next key, or a new one where there is none, take over.
    ///
    /// - Parameter discardingCurrent: the key that was current goes at once, with all that it signed or sealed: for one
    ///   that others have.
    mutating func rotate(
        now: Int64, for purpose: KeyPurpose, discardingCurrent: Bool = false, make: () throws -> NewKey
    ) rethrows {
        let successor = try next ?? make().stored(.current, at: now)
        let following = try purpose.publishesKeys ? make().stored(.next, at: now) : nil
        keys.removeAll { $0.id == successor.id || discardingCurrent && $0.state == .current }
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
