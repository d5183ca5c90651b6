internal import NIOCore

/// Where the frames of an HTTP/2 connection's client begin and end, as far as heads depend on it (RFC 9113 §4.1,
/// §6.10).
struct HTTP2HeadProgress {
    /// The client's preface comes first.
    private var prefaceLeft = 24
    /// Of a frame's header, as far as it has come: length, type and flags are its first five bytes.
    private var header: UInt64 = 0
    private var headerCount = 0
    private var payloadLeft = 0
    private var type: UInt8 = 0
    /// A header block goes on in the next frame.
    private var blockIsOpen = false
    /// How often nothing was owed any more.
    private(set) var ends = 0

    private static let headerLength = 9
    private static let data: UInt8 = 0
    private static let headers: UInt8 = 1
    private static let continuation: UInt8 = 9
    private static let endHeaders: UInt8 = 4

    /// Whether the client has begun what it must end before anything else can come: a head, or any frame but a part of
    /// a body, which is measured by itself.
    var isIncomplete: Bool {
        prefaceLeft < 24 && prefaceLeft > 0 || headerCount > 0 || blockIsOpen || payloadLeft > 0 && type != Self.data
    }

    mutating func take(_ bytes: ByteBufferView) {
        var index = bytes.startIndex
        while index < bytes.endIndex {
            let left = bytes.endIndex - index
            if prefaceLeft > 0 {
                let count = min(prefaceLeft, left)
                prefaceLeft -= count
                index += count
            } else if payloadLeft > 0 {
                let count = min(payloadLeft, left)
                payloadLeft -= count
                index += count
            } else {
                takeHeaderByte(bytes[index])
                index += 1
            }
            if !isIncomplete { ends += 1 }
        }
    }

    private mutating func takeHeaderByte(_ byte: UInt8) {
        headerCount += 1
        if headerCount <= 5 { header = header << 8 | UInt64(byte) }
        guard headerCount == Self.headerLength else { return }
        payloadLeft = Int(header >> 16)
        type = UInt8(truncatingIfNeeded: header >> 8)
        if type == Self.headers || type == Self.continuation {
            blockIsOpen = UInt8(truncatingIfNeeded: header) & Self.endHeaders == 0
        }
        (header, headerCount) = (0, 0)
    }
}

/// Sees to it that an HTTP/2 client ends the heads that it begins, and in time: SwiftNIO's handler keeps the beginning
/// of a frame, or of a header block, for as long as the rest takes.
final class HTTP2HeadWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let connections: ConnectionSet
    private let timeout: TimeAmount
    private var progress = HTTP2HeadProgress()
    private var rate: LeastRate
    private var latest = NIODeadline.distantFuture

    /// When what has begun must have come, at the rate that it comes.
    var deadline: NIODeadline { min(latest, rate.deadline) }

    /// Whether the rate is too low, and not the whole time over.
    var isTooSlow: Bool { rate.deadline < latest }

    init(_ settings: ListenerSettings, connections: ConnectionSet) {
        self.connections = connections
        timeout = settings.headTimeout
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let ends = progress.ends
        progress.take(bytes.readableBytesView)
        if !progress.isIncomplete {
            stop()
        } else if latest == .distantFuture || progress.ends != ends {
            // A client that ends one and begins the next in the same bytes has the whole time for that.
            let now = connections.now
            latest = now + timeout
            rate.begin()
            rate.wait(at: now)
        } else {
            let now = connections.now
            rate.received(bytes.readableBytes, at: now)
            rate.wait(at: now)
        }
        context.fireChannelRead(data)
    }

    func stop() {
        guard latest != .distantFuture else { return }
        latest = .distantFuture
        rate.end()
    }
}
