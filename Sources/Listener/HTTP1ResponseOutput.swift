internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// What a connection's responses become on their way into the channel: few writes, and no buffer while it is idle.
///
/// An object, since a write may call back into the connection, which nothing of it may be held exclusively across.
final class HTTP1ResponseOutput {
    /// Bodies up to this size are copied behind the head, so that one write carries both.
    private static let coalescedBytes = 16 << 10

    private var encoder = HTTP1ResponseEncoder()
    private var bytes = ByteBuffer()

    /// Whether the connection must end with this response, whatever was announced.
    var mustClose: Bool { encoder.mustClose }

    /// See ``HTTP1ResponseEncoder/writeHead(_:toHead:minorVersion:keepAlive:to:)``.
    func writeHead(_ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool) {
        reserveHead()
        encoder.writeHead(head, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive, to: &bytes)
    }

    /// The same with fields that are passed on as they are.
    func writeHead(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, toHead: Bool, minorVersion: Int, keepAlive: Bool
    ) {
        reserveHead()
        encoder.writeHead(
            status, lines, toHead: toHead, minorVersion: minorVersion, keepAlive: keepAlive, to: &bytes)
    }

    private func reserveHead() {
        if bytes.storageCapacity == 0 { bytes = ByteBufferAllocator().buffer(capacity: 1024) }
    }

    /// Takes a part of the body. One that is longer than was announced closes the connection, which nothing can save.
    func writeBody(_ body: ByteBuffer, _ context: ChannelHandlerContext) {
        switch encoder.part(body.readableBytes) {
        case .none:
            break
        case .excess:
            context.close(promise: nil)
        case .chunk where body.readableBytes <= Self.coalescedBytes:
            bytes.writeChunk(body)
        case .plain where body.readableBytes <= Self.coalescedBytes:
            bytes.writeImmutableBuffer(body)
        case .chunk:
            bytes.writeString(String(body.readableBytes, radix: 16))
            bytes.writeStaticString("\r\n")
            write(context)
            context.write(NIOAny(body), promise: nil)
            bytes.writeStaticString("\r\n")
        case .plain:
            write(context)
            context.write(NIOAny(body), promise: nil)
        }
        // Only what the channel holds counts for its writability.
        if bytes.readableBytes >= Self.coalescedBytes { write(context) }
    }

    /// Takes the end of the body and gives the channel all there is.
    ///
    /// - Returns: false when the body is shorter than announced, so that only closing tells the client.
    func writeEnd(trailers: HTTPFields?, _ context: ChannelHandlerContext) -> Bool {
        let isWhole = encoder.writeEnd(trailers: trailers, to: &bytes)
        write(context)
        return isWhole
    }

    /// Gives the channel what there is; its next flush sends it.
    func write(_ context: ChannelHandlerContext) {
        guard bytes.readableBytes > 0 else { return }
        context.write(NIOAny(bytes), promise: nil)
        bytes = ByteBuffer()
    }
}
