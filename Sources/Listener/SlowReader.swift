internal import NIOCore
internal import Sockets

/// How long an HTTP/1.1 client may take nothing of its responses, and how slowly it may take the last of them.
///
/// While a response goes on, its client takes some of what waits within ``ListenerSettings/bodyIdleTimeout``: else it
/// would keep the backend's connection for ever. Once the gateway has all of it, the client takes the rest at the least
/// rate as well, since it keeps memory and a place among the requests.
struct SlowReader {
    private let patience: TimeAmount
    /// When the client must have taken some.
    private var latest = NIODeadline.distantFuture
    /// Of what is left of a finished response.
    private var rate: LeastRate
    private var nextLook = NIODeadline.distantFuture
    /// The bytes that waited for the client, and those that it had acknowledged, at the last look.
    private var unsentBytes = 0
    private var acknowledgedBytes: UInt64 = 0

    /// The channel says when little is left, and not when nothing is.
    private static let interval = TimeAmount.milliseconds(250)

    init(_ settings: ListenerSettings) {
        patience = settings.bodyIdleTimeout
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
    }

    /// When it is to be looked; far away while the client keeps up.
    var deadline: NIODeadline { min(latest, nextLook) }

    /// Whether a finished response has not been taken yet.
    var hasUnsentResponse: Bool { nextLook != .distantFuture }

    /// The client is waited for no longer.
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

    /// A response has ended and was flushed.
    ///
    /// - Returns: whether some of it is still here.
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
        /// All that was written has left.
        case sent
        case waiting
        /// The client takes nothing, or too little.
        case stuck
    }

    /// The deadline has passed.
    mutating func look(at channel: any Channel, at now: NIODeadline) -> Finding {
        let unsent = Self.unsentBytes(of: channel)
        let acknowledged = AcknowledgedBytes.of(channel) ?? 0
        let taken = max(unsentBytes - unsent, Int(clamping: acknowledged) - Int(clamping: acknowledgedBytes))
        if unsent > unsentBytes, hasUnsentResponse {
            // The next response has begun, of which nothing can be owed yet.
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

    /// Bytes that were written and have not left yet.
    static func unsentBytes(of channel: any Channel) -> Int {
        if let channel = channel as? SocketChannel { return channel.unsentBytes }
        return (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }
}
