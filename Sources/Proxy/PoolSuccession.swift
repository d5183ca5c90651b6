/// The upstreams that a plan has in common with the one before it, by the numbers that they keep in all plans.
struct PoolSuccession: Equatable {
    /// For each upstream of the new plan its position in the one before; nil if it is new.
    let taken: [Int?]
    /// The positions in the plan before of the upstreams that the new plan no longer has.
    let left: [Int]

    /// - Parameters:
    ///   - previous: the numbers of the upstreams of the plan before.
    ///   - next: those of the new plan.
    init(from previous: [UInt64], to next: [UInt64]) {
        taken = next.map { previous.firstIndex(of: $0) }
        left = previous.indices.filter { !next.contains(previous[$0]) }
    }
}
