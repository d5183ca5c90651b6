internal import Synchronization

/// The pool's time, which tests move forward.
package final class PoolClock: Sendable {
    private let base: @Sendable () -> Int64
    private let offset = Atomic<Int64>(0)

    init(_ base: @escaping @Sendable () -> Int64) {
        self.base = base
    }

    /// Seconds since 1970 as the pool takes them to be.
    package func callAsFunction() -> Int64 { base() + offset.load(ordering: .relaxed) }

    /// The time without what it was moved by: the one that clients sign their requests with.
    package var real: Int64 { base() }

    /// Moves the time forward.
    package func advance(by seconds: Int64) {
        offset.wrappingAdd(seconds, ordering: .relaxed)
    }
}
