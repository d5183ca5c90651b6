public import Foundation
public import GatehouseClient

/// Clocks that a test sets. A pause moves them on and returns.
public final class ManualClock: ClientClock, @unchecked Sendable {
    // Unchecked: both are only used under `lock`.
    private let lock = NSLock()
    private var wall: Date
    private var elapsed: TimeInterval = 1000

    /// - Parameter now: the time at first.
    public init(now: Date = Date(timeIntervalSince1970: 1_790_000_000)) { wall = now }

    public var now: Date { lock.withLock { wall } }
    public var uptime: TimeInterval { lock.withLock { elapsed } }

    /// Lets time pass.
    public func advance(by seconds: TimeInterval) {
        lock.withLock {
            wall += seconds
            elapsed += seconds
        }
    }

    /// Sets the wall clock forward, or back, as a user does. No time passes.
    public func setWallClock(forwardBy seconds: TimeInterval) { lock.withLock { wall += seconds } }

    public func pause(seconds: TimeInterval) async throws {
        try Task.checkCancellation()
        advance(by: seconds)
    }
}
