internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// Writes a connection's responses to the channel, in few writes, and holds no buffer while the connection is idle.
///
/// It is a class, because a write may call back into the connection: exclusive access to a value in the connection must
/// not extend across the write.
final class HTTP1ResponseOutput {
    /// Body parts up to this size are copied after the head, so that one write sends both.
    private static let coalescedBytes = 16 << 10

    /// The bytes not yet passed to the channel and their encoder, in one value: accessing each separately costs about
    /// as much as changing both.
    private struct Pending {
        var encoder = HTTP1ResponseEncoder()
        var bytes = ByteBuffer()

        mutating func writeHead(_ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool) {
            reserveHead()
            encoder.writeHead(head, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive, to: &bytes)
        }

        mutating func writeHead(
            _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, toHead: Bool, minorVersion: Int,
            keepAlive: Bool
        ) {
            reserveHead()
            encoder.writeHead(
                status, lines, requestID: requestID, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive,
                to: &bytes)
        }

        private mutating func reserveHead() {
            if bytes.storageCapacity == 0 { bytes = ByteBufferAllocator().buffer(capacity: 1024) }
        }

        /// Copies a part of the body if it is small.
        ///
        /// - Returns: nil if the part was copied or must not be sent; otherwise its encoding, with nothing written.
        mutating func write(_ body: ByteBuffer) -> HTTP1ResponseEncoder.Part? {
            switch encoder.part(body.readableBytes) {
            case .none: break
            case .chunk where body.readableBytes <= coalescedBytes: bytes.writeChunk(body)
            case .plain where body.readableBytes <= coalescedBytes: bytes.writeImmutableBuffer(body)
            case let other: return other
            }
            return nil
        }

        mutating func writeEnd(trailers: HTTPFields?) -> Bool {
            encoder.writeEnd(trailers: trailers, to: &bytes)
        }

        mutating func takeBytes(atLeast count: Int = 1) -> ByteBuffer? {
            guard bytes.readableBytes >= count else { return nil }
            let taken = bytes
            bytes = ByteBuffer()
            return taken
        }
    }

    private var pending = Pending()

    /// Whether the connection must close after this response.
    var mustClose: Bool { pending.encoder.mustClose }

    /// Whether the current body is delimited by the end of the connection.
    var isUntilClose: Bool { pending.encoder.isUntilClose }

    /// Whether the last response was delimited by the end of the connection; also true after its end was written.
    var endsWithConnection: Bool { pending.encoder.endsWithConnection }

    /// See ``HTTP1ResponseEncoder/writeHead(_:toHead:minorVersion:keepAlive:to:)``.
    func writeHead(_ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool) {
        pending.writeHead(head, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive)
    }

    /// Writes a head with fields that are passed on unchanged.
    func writeHead(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, toHead: Bool, minorVersion: Int,
        keepAlive: Bool
    ) {
        pending.writeHead(
            status, lines, requestID: requestID, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive)
    }

    /// Writes a part of the body. If it exceeds the announced length, the connection is closed.
    func writeBody(_ body: ByteBuffer, _ context: ChannelHandlerContext) {
        switch pending.write(body) {
        case nil, .some(.none):
            // Only bytes in the channel count for its writability.
            if let bytes = pending.takeBytes(atLeast: Self.coalescedBytes) {
                context.write(NIOAny(bytes), promise: nil)
            }
        case .excess:
            context.close(promise: nil)
        case .chunk:
            pending.bytes.writeString(String(body.readableBytes, radix: 16))
            pending.bytes.writeStaticString("\r\n")
            write(context)
            context.write(NIOAny(body), promise: nil)
            pending.bytes.writeStaticString("\r\n")
        case .plain:
            write(context)
            context.write(NIOAny(body), promise: nil)
        }
    }

    /// Writes the end of the body, and passes all pending bytes to the channel.
    ///
    /// - Returns: false if the body is shorter than announced; then only closing the connection shows the client the
    ///   error.
    func writeEnd(trailers: HTTPFields?, _ context: ChannelHandlerContext) -> Bool {
        let isWhole = pending.writeEnd(trailers: trailers)
        write(context)
        return isWhole
    }

    /// Passes the pending bytes to the channel; its next flush sends them.
    func write(_ context: ChannelHandlerContext) {
        if let bytes = pending.takeBytes() { context.write(NIOAny(bytes), promise: nil) }
    }
}
