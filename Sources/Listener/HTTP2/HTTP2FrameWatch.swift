internal import NIOCore

/// Stands between the network and SwiftNIO's HTTP/2 handler. It looks at the frames that are sent, since that handler
/// does not report when it has given up a connection; from then on, no byte of the client's reaches it. It cuts
/// received bytes into pieces that keep SwiftNIO's parser small, and ends the floods that SwiftNIO does not.
final class HTTP2FrameWatch: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    /// The error that GOAWAY was sent with; 0 as long as there was none.
    private(set) var errorCode: UInt32 = 0
    /// Called with the size of what the client sends, which is thrown away; nil as long as it is not.
    var onDiscarded: ((Int) -> Void)?
    /// Called with a stream's number and a size when a part of its body is sent. Set while some stream waits for its
    /// client.
    var onData: ((Int32, Int) -> Void)?
    /// Called with a stream's number when so many parts of DATA frames have come for it in a row.
    var onParts: ((Int32, Int) -> Void)?
    /// Called when the client has sent more frames of some kind than it has reason to.
    var onFlood: (() -> Void)?

    private var reader = HTTP2FrameReader()
    /// Bytes left of the payload of the frame that was last sent.
    private var payloadLeft = 0

    /// Whether GOAWAY with an error was sent.
    var connectionHasFailed: Bool { errorCode != 0 }

    private var discardsInput: Bool { onDiscarded != nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let read = unwrapInboundIn(data)
        if let onDiscarded { return onDiscarded(read.readableBytes) }
        var bytes = Self.fitted(read, context.channel.allocator)
        while !discardsInput, let piece = reader.next(from: &bytes) {
            context.fireChannelRead(wrapInboundOut(piece))
        }
        for part in reader.parts where !discardsInput { onParts?(part.stream, part.count) }
        reader.forgetParts()
        if reader.isFlooded, !discardsInput { onFlood?() }
    }

    /// The bytes in a buffer of about their own size: parts of a body that are stored keep the buffer they came in, and
    /// a read that fills little of it would be stored with all of it.
    private static func fitted(_ bytes: ByteBuffer, _ allocator: ByteBufferAllocator) -> ByteBuffer {
        guard bytes.storageCapacity > 2 * max(bytes.readableBytes, 512) else { return bytes }
        var copy = allocator.buffer(capacity: bytes.readableBytes)
        copy.writeImmutableBuffer(bytes)
        return copy
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
            position += HTTP2FrameReader.headerLength
            switch HTTP2FrameType(number: UInt8(truncatingIfNeeded: word)) {
            case .data:
                reader.budget.dataFrameWasSent()
                onData?(stream, payloadLeft)
            case .goAway: errorCode = bytes.getInteger(at: position + 4, as: UInt32.self) ?? 0
            default: break
            }
        }
    }
}
