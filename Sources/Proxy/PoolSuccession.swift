/// The upstreams that two consecutive plans have in common, matched by the numbers that upstreams keep in all plans.
struct PoolSuccession: Equatable {
    /// For each upstream of the new plan, its index in the previous plan; nil if it is new.
    let taken: [Int?]
    /// The indices in the previous plan of the upstreams that the new plan no longer has.
    let left: [Int]

    /// - Parameters:
    ///   - previous: the numbers of the previous plan's upstreams.
    ///   - next: the numbers of the new plan's upstreams.
    init(from previous: [UInt64], to next: [UInt64]) {
        taken = next.map { previous.firstIndex(of: $0) }
        left = previous.indices.filter { !next.contains(previous[$0]) }
    }
}
