internal import NIOCore
internal import Sockets

/// The time limits for an HTTP/1.1 client that takes its responses slowly.
///
/// During a response, the client must take some of the waiting bytes within ``ListenerSettings/bodyIdleTimeout``;
/// otherwise it would occupy the backend's connection indefinitely. Once the gateway has the whole response, the client
/// must also take the rest at the minimum rate, since it occupies memory and counts as a request in progress.
struct SlowReader {
    private let patience: TimeAmount
    /// The time at which the client must have taken some bytes.
    private var latest = NIODeadline.distantFuture
    /// The minimum rate for the rest of a finished response.
    private var rate: MinimumRate
    private var nextLook = NIODeadline.distantFuture
    /// The client's waiting bytes and acknowledged bytes at the last check.
    private var unsentBytes = 0
    private var acknowledgedBytes: UInt64 = 0

    /// The interval of checks: the channel signals when few bytes are left, but not when none are.
    private static let interval = TimeAmount.milliseconds(250)

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        rate = MinimumRate(settings.minimumRate, grace: settings.minimumRateGrace)
    }

    /// The time of the next check; distant future while the client keeps up.
    var deadline: NIODeadline { min(latest, nextLook) }

    /// Whether a finished response has not been sent completely.
    var hasUnsentResponse: Bool { nextLook != .distantFuture }

    /// Stops waiting for the client.
    mutating func stopWaiting() {
        (latest, nextLook) = (.distantFuture, .distantFuture)
        rate.end()
    }

    mutating func writabilityChanged(of channel: any Channel, at now: NIODeadline) {
        if !channel.isWritable {
            wait(for: channel, Self.unsentBytes(of: channel), at: now)
        } else if !hasUnsentResponse {
            latest = .distantFuture
        }
    }

    private mutating func wait(for channel: any Channel, _ unsent: Int, at now: NIODeadline) {
        latest = now + patience
        unsentBytes = unsent
        acknowledgedBytes = AcknowledgedBytes.of(channel) ?? 0
    }

    /// Called after the flush of a response that has ended.
    ///
    /// - Returns: whether some of it has not been sent.
    mutating func responseHasEnded(_ channel: any Channel, at now: NIODeadline) -> Bool {
        let unsent = Self.unsentBytes(of: channel)
        guard unsent > 0 else { return false }
        nextLook = now + Self.interval
        rate.begin()
        rate.wait(at: now)
        wait(for: channel, unsent, at: now)
        return true
    }

    enum Finding {
        /// Everything that was written has been sent.
        case sent
        case waiting
        /// The client takes nothing, or too little.
        case stuck
    }

    /// Checks the client's progress when the deadline has passed.
    mutating func look(at channel: any Channel, at now: NIODeadline) -> Finding {
        let unsent = Self.unsentBytes(of: channel)
        let acknowledged = AcknowledgedBytes.of(channel) ?? 0
        let taken = max(unsentBytes - unsent, Int(clamping: acknowledged) - Int(clamping: acknowledgedBytes))
        if unsent > unsentBytes, hasUnsentResponse {
            // The next response has begun; the rate is measured anew.
            rate.begin()
            rate.wait(at: now)
        } else if taken > 0 {
            rate.received(taken, at: now)
            rate.wait(at: now)
        }
        if taken > 0 { latest = now + patience }
        (unsentBytes, acknowledgedBytes) = (unsent, acknowledged)
        if hasUnsentResponse {
            if unsent == 0 {
                stopWaiting()
                return .sent
            }
            nextLook = now + Self.interval
        }
        return min(latest, rate.deadline) > now ? .waiting : .stuck
    }

    /// Returns the number of bytes that were written but not sent.
    static func unsentBytes(of channel: any Channel) -> Int {
        if let channel = channel as? SocketChannel { return channel.unsentBytes }
        return (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
