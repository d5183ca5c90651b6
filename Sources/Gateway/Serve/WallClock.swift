internal import Cryptography
internal import Glibc
internal import Store

/// The time of day.
enum WallClock {
    /// Milliseconds since 1970.
    static func milliseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Nanoseconds since 1970.
    static func nanoseconds() -> Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// The time of day at this moment, and from then on as much later as has passed on the monotonic clock: a clock that
    /// counts milliseconds since 1970, and that nobody sets.
    static func steadyMilliseconds() -> @Sendable () -> Int64 {
        let (began, time) = (ContinuousClock.now, milliseconds())
        return { time + Int64((ContinuousClock.now - began) / .milliseconds(1)) }
    }

    /// Seconds of a clock that nobody sets.
    static func uptime() -> Int64 { PruningClock.uptime() }

    /// Seconds since 1970.
    static func seconds() -> Int64 { milliseconds() / 1000 }
}

/// Random numbers for request and trace ids: they must differ, not be secret, and cost no system call.
///
/// SplitMix64 (Steele, Lea, Flood 2014), seeded from the system.
struct FastRandom {
    private var state: UInt64

    init() {
        state = SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) }
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
