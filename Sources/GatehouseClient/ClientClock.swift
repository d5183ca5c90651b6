public import Foundation

/// The clocks that the client reads, and its pauses.
public protocol ClientClock: Sendable {
    /// The wall clock, which users and networks set.
    var now: Date { get }
    /// Seconds of a clock that nobody sets, and that counts on while the device sleeps.
    var uptime: TimeInterval { get }
    /// - Throws: `CancellationError`.
    func pause(seconds: TimeInterval) async throws
}

public struct SystemClock: ClientClock {
    public init() {}

    public var now: Date { Date() }

    public var uptime: TimeInterval {
        var time = timespec()
        #if canImport(Darwin)
            let clock = CLOCK_MONOTONIC  // counts on in sleep on Apple's systems (clock_gettime(3))
        #else
            let clock = CLOCK_BOOTTIME  // CLOCK_MONOTONIC stands still in sleep on Linux (clock_gettime(2))
        #endif
        _ = unsafe clock_gettime(clock, &time)
        return TimeInterval(time.tv_sec) + TimeInterval(time.tv_nsec) / 1e9
    }

    public func pause(seconds: TimeInterval) async throws {
        try await Task.sleep(nanoseconds: UInt64(max(0, seconds) * 1e9))
    }
}
