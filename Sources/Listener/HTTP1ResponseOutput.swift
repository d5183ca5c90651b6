internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// Writes a connection's responses into the channel: in few writes, and without a buffer while the connection is idle.
///
/// An object, since a write may call back into the connection, which nothing of it may be held exclusively across.
final class HTTP1ResponseOutput {
    /// Bodies up to this size are copied behind the head, so that one write carries both.
    private static let coalescedBytes = 16 << 10

    /// Bytes not yet given to the channel, with their encoder in one value: accessing each part separately costs about
    /// as much as changing all.
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

        /// Copies a part of the body that is small.
        ///
        /// - Returns: how it goes out, with nothing done, when it is not.
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

    /// Whether the connection must end with this response, whatever was announced.
    var mustClose: Bool { pending.encoder.mustClose }

    /// Whether the body that is going out ends with the connection.
    var isUntilClose: Bool { pending.encoder.isUntilClose }

    /// Whether the response ends for its client with the connection, also once all of it has been written.
    var endsWithConnection: Bool { pending.encoder.endsWithConnection }

    /// See ``HTTP1ResponseEncoder/writeHead(_:toHead:minorVersion:keepAlive:to:)``.
    func writeHead(_ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool) {
        pending.writeHead(head, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive)
    }

    /// The same with fields that are passed on as they are.
    func writeHead(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, toHead: Bool, minorVersion: Int,
        keepAlive: Bool
    ) {
        pending.writeHead(
            status, lines, requestID: requestID, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive)
    }

    /// Takes a part of the body. One that is longer than was announced closes the connection, which nothing can save.
    func writeBody(_ body: ByteBuffer, _ context: ChannelHandlerContext) {
        switch pending.write(body) {
        case nil, .some(.none):
            // Only what the channel holds counts for its writability.
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

    /// Takes the end of the body and gives the channel all there is.
    ///
    /// - Returns: false when the body is shorter than announced, so that only closing tells the client.
    func writeEnd(trailers: HTTPFields?, _ context: ChannelHandlerContext) -> Bool {
        let isWhole = pending.writeEnd(trailers: trailers)
        write(context)
        return isWhole
    }

    /// Gives the channel what there is; its next flush sends it.
    func write(_ context: ChannelHandlerContext) {
        if let bytes = pending.takeBytes() { context.write(NIOAny(bytes), promise: nil) }
    }
}
