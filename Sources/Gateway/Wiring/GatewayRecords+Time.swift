internal import Clocks
internal import Store

/// The time of day for what is stored, or compared with what is stored: by the clock of all gateways that share the
/// records. One gateway may write a time by which another one judges, however wrong its own clock is.
extension GatewayRecords {
    /// Seconds since 1970.
    var time: @Sendable () -> Int64 {
        { [clock] in clock.sharedTime(WallClock.seconds()) }
    }

    /// Milliseconds since 1970.
    ///
    /// - Parameter own: the gateway's own time of day, for records that no other gateway has.
    func milliseconds(_ own: @escaping @Sendable () -> Int64) -> @Sendable () -> Int64 {
        { [clock] in clock.sharedMilliseconds(own()) }
    }
}
