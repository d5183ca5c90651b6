internal import Synchronization

/// A number that one thread changes and any thread reads.
///
/// With a single writer a load and a store do what an atomic addition would, at a fraction of its cost. Two writers
/// would lose counts, nothing worse.
final class Counter: Sendable {
    private let stored = Atomic<Int64>(0)

    var value: Int64 { stored.load(ordering: .relaxed) }

    @inline(__always)
    func add(_ amount: Int64 = 1) {
        stored.store(stored.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }
}

/// Counters by an index into a list of label values.
struct CounterFamily: Sendable {
    private let counters: [Counter]

    init(count: Int) {
        counters = (0..<count).map { _ in Counter() }
    }

    /// An index out of range counts in the last place, where labels have their "other".
    @inline(__always)
    func add(_ amount: Int64 = 1, at index: Int) {
        counters[counters.indices.contains(index) ? index : counters.count - 1].add(amount)
    }

    var values: [Int64] { counters.map(\.value) }
}
