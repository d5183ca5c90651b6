internal import Clocks
internal import Store

/// The time for values that are stored or compared with stored ones, by the clock that all gateways of the records
/// share. A time written by one gateway may be evaluated by another, so their own clocks must not matter.
extension GatewayRecords {
    /// Seconds since 1970.
    var time: @Sendable () -> Int64 {
        { [clock] in clock.sharedTime(WallClock.seconds()) }
    }

    /// Milliseconds since 1970.
    ///
    /// - Parameter own: the gateway's own clock, for records that are not shared.
    func milliseconds(_ own: @escaping @Sendable () -> Int64) -> @Sendable () -> Int64 {
        { [clock] in clock.sharedMilliseconds(own()) }
    }
}
