internal import Synchronization

/// The pool's clock, which tests can advance.
package final class PoolClock: Sendable {
    private let base: @Sendable () -> Int64
    private let offset = Atomic<Int64>(0)

    init(_ base: @escaping @Sendable () -> Int64) {
        self.base = base
    }

    /// The pool's time in seconds since 1970.
    package func callAsFunction() -> Int64 { base() + offset.load(ordering: .relaxed) }

    /// The time without the offset, which clients sign their requests with.
    package var real: Int64 { base() }

    /// Moves the pool's time forward.
    package func advance(by seconds: Int64) {
        offset.wrappingAdd(seconds, ordering: .relaxed)
    }
}
