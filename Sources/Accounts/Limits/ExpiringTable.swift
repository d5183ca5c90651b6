internal import Encoding

/// A table with a bounded number of values by key, each with an expiry.
///
/// When it is full, an eighth of the values is removed at once, those that expire first, so that not every new key
/// requires a search.
struct ExpiringTable<Value: Sendable>: Sendable {
    private var entries: [ExactText: (value: Value, endsAt: Int64)] = [:]
    private let capacity: Int

    init(capacity: Int) {
        self.capacity = max(8, capacity)
    }

    var count: Int { entries.count }

    /// - Parameter now: in the unit of `endsAt`.
    func value(of key: String, at now: Int64) -> Value? {
        guard let entry = entries[ExactText(key)], entry.endsAt > now else { return nil }
        return entry.value
    }

    func endsAt(of key: String) -> Int64? { entries[ExactText(key)]?.endsAt }

    mutating func set(_ value: Value, of key: String, endsAt: Int64, at now: Int64) {
        let key = ExactText(key)
        if entries.count >= capacity, entries[key] == nil { makeRoom(at: now) }
        entries[key] = (value, endsAt)
    }

    mutating func remove(_ key: String) { entries[ExactText(key)] = nil }

    mutating func removeAll(where condition: (Value) -> Bool) {
        entries = entries.filter { !condition($0.value.value) }
    }

    mutating func removeEnded(at now: Int64) {
        entries = entries.filter { $0.value.endsAt > now }
    }

    private mutating func makeRoom(at now: Int64) {
        removeEnded(at: now)
        guard entries.count >= capacity else { return }
        let soonest = entries.map { ($0.key, $0.value.endsAt) }.sorted { $0.1 < $1.1 }.prefix(capacity / 8)
        for (key, _) in soonest { entries[key] = nil }
    }
}
