internal import Glibc

/// The time of day.
package enum WallClock {
    /// Milliseconds since 1970.
    package static func milliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds since 1970.
    package static func nanoseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// A clock in milliseconds since 1970 that starts at the current time of day and then follows the monotonic clock,
    /// so clock adjustments do not affect it.
    package static func steadyMilliseconds() -> @Sendable () -> Int64 {
        let (began, time) = (ContinuousClock.now, milliseconds())
        return { time + Int64((ContinuousClock.now - began) / .milliseconds(1)) }
    }

    /// Seconds of a monotonic clock, which counts suspended time too.
    package static func uptime() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec)
    }

    /// Seconds since 1970.
    package static func seconds() -> Int64 { milliseconds() / 1000 }
}
