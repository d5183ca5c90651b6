internal import NIOCore

/// Stands between the network and SwiftNIO's HTTP/2 handler and looks at the frames that are sent, since that
/// handler tells nobody when it has given a connection up. From then on no byte of the client's reaches it.
/// At what is received it looks for the one kind of flood that SwiftNIO does not.
final class HTTP2FrameWatch: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// Whether GOAWAY with an error was sent.
    private(set) var connectionHasFailed = false
    /// Whether what the client sends is thrown away.
    var discardsInput = false
    /// Called with a stream's number when a part of its body is sent. Set while some stream waits for that.
    var onData: ((Int32) -> Void)?
    /// Called when the client has sent more WINDOW_UPDATE frames than it has reason to.
    var onFlood: (() -> Void)?

    /// Bytes left of the payload of the frame whose header was last seen.
    private var payloadLeft = 0
    private var windowUpdates = HTTP2WindowUpdateBudget()

    private static let headerLength = 9
    private static let dataType: UInt8 = 0
    private static let goAwayType: UInt8 = 7

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !discardsInput else { return }
        if windowUpdates.take(unwrapInboundIn(data)) { context.fireChannelRead(data) } else { onFlood?() }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .byteBuffer(let bytes) = unwrapOutboundIn(data) { look(at: bytes) }
        context.write(data, promise: promise)
    }

    /// Frame headers are never split over two writes.
    private func look(at bytes: ByteBuffer) {
        var position = bytes.readerIndex
        while position < bytes.writerIndex {
            if payloadLeft > 0 {
                let skipped = min(payloadLeft, bytes.writerIndex - position)
                payloadLeft -= skipped
                position += skipped
                continue
            }
            guard let word = bytes.getInteger(at: position, as: UInt32.self),
                let stream = bytes.getInteger(at: position + 5, as: Int32.self)
            else { return }
            payloadLeft = Int(word >> 8)
            position += Self.headerLength
            switch UInt8(truncatingIfNeeded: word) {
            case Self.dataType:
                windowUpdates.dataFrameWasSent()
                onData?(stream)
            case Self.goAwayType: connectionHasFailed = bytes.getInteger(at: position + 4, as: UInt32.self) != 0
            default: break
            }
        }
    }
}
