internal import Clocks
internal import Store

// Services that keep times in records, or compare them, go by the clock of all gateways that share the records. With
// records of one gateway it is the time of day.
extension RecordClock {
    /// Seconds since 1970.
    var seconds: @Sendable () -> Int64 { { sharedTime(WallClock.seconds()) } }

    /// Milliseconds since 1970.
    var milliseconds: @Sendable () -> Int64 { { sharedMilliseconds(WallClock.milliseconds()) } }

    /// As ``milliseconds``, by a clock that nobody sets where the gateway has the records to itself.
    var steadyMilliseconds: @Sendable () -> Int64 {
        let steady = WallClock.steadyMilliseconds()
        return { sharedMilliseconds(steady()) }
    }
}
