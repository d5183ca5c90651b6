internal import Synchronization

/// A number that one thread changes and any thread can read.
///
/// With a single writer, a load and a store have the effect of an atomic addition at a fraction of its cost. Two
/// concurrent writers could lose counts, but cause no other harm.
final class Counter: Sendable {
    private let stored = Atomic<Int64>(0)

    var value: Int64 { stored.load(ordering: .relaxed) }

    @inline(__always)
    func add(_ amount: Int64 = 1) {
        stored.store(stored.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    func set(_ value: Int64) { stored.store(value, ordering: .relaxed) }
}

/// Counters, indexed like a list of label values.
struct CounterFamily: Sendable {
    private let counters: [Counter]

    init(count: Int) {
        counters = (0..<count).map { _ in Counter() }
    }

    /// Creates `width` counters for each of `keys`, and another `width` for values without a key. Keys that `earlier`
    /// also has share its counters, so that counts through the earlier family are included.
    init(_ keys: [String], width: Int = 1, continuing earlier: (family: CounterFamily, keys: [String])?) {
        let places = Dictionary((earlier?.keys ?? []).enumerated().map { ($1, $0) }) { first, _ in first }
        var counters: [Counter] = []
        for key in keys.map(Optional.some) + [nil] {
            let place = key.map { places[$0] } ?? earlier?.keys.count
            for offset in 0..<width {
                let known = place.flatMap { earlier?.family.counters[$0 * width + offset] }
                counters.append(known ?? Counter())
            }
        }
        self.counters = counters
    }

    /// Adds to a counter. An index out of range counts in the last place, which is the label `other` or `none`.
    @inline(__always)
    func add(_ amount: Int64 = 1, at index: Int) {
        counters[counters.indices.contains(index) ? index : counters.count - 1].add(amount)
    }

    /// - Precondition: `index` is in range.
    func set(_ value: Int64, at index: Int) { counters[index].set(value) }

    var values: [Int64] { counters.map(\.value) }
}
