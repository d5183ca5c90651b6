import ClockSteps
import Synchronization

/// A time of day that only the test moves and sets, and a steady clock beside it.
package final class ManualClock: SettableClock {
    package static let start: Int64 = 1_780_000_000

    private let state = Mutex((now: start, error: Int64(0), endsReader: false))

    package init() {}

    /// The time of day, given to the code under test.
    package func read() -> Int64 {
        let (now, error, endsReader) = state.withLock { state in
            defer { state.endsReader = false }
            return state
        }
        if endsReader { withUnsafeCurrentTask { $0?.cancel() } }
        return now + error
    }

    /// The steady clock, given to the code under test.
    package var uptime: Int64 { state.withLock { $0.now } }

    package func set(error: Int64) { state.withLock { $0.error = error } }

    package func advance(_ seconds: Int64) { state.withLock { $0.now += seconds } }

    /// Cancels the task that reads the clock next, so that a loop does what it is about and does not go round again.
    package func endNextReader() { state.withLock { $0.endsReader = true } }
}

/// The same for code that counts milliseconds since 1970.
package final class MillisecondClock: SettableClock {
    private let time = Mutex((steady: Int64(1_700_000_000_000), error: Int64(0)))

    package init() {}

    package var now: Int64 { time.withLock { $0.steady + $0.error } }
    /// In seconds.
    package var uptime: Int64 { time.withLock { $0.steady / 1000 } }
    package func advance(_ milliseconds: Int64) { time.withLock { $0.steady += milliseconds } }
    package func set(error: Int64) { time.withLock { $0.error = error * 1000 } }
}
