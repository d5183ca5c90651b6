internal import NIOCore
internal import NIOHTTP2
internal import Pipeline

/// Stands between SwiftNIO's connection and its streams.
///
/// The connection's parser hands out slices of the buffer it reads into, and takes another one of that size while a
/// slice is in use. A byte that waits for its backend would keep as many bytes as the largest read brought. So each
/// part of a body gets a buffer of its own size.
///
/// The streams' multiplexer would give the connection the window of a stream, so the connection's is opened here.
final class HTTP2StreamInput: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias InboundOut = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var frame = unwrapInboundIn(data)
        guard case .data(var part) = frame.payload, case .byteBuffer(let bytes) = part.data else {
            return context.fireChannelRead(data)
        }
        part.data = .byteBuffer(context.channel.allocator.buffer(buffer: bytes))
        frame.payload = .data(part)
        context.fireChannelRead(wrapInboundOut(frame))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let update = event as? NIOHTTP2WindowUpdatedEvent, update.streamID == .rootStream else {
            return context.fireUserInboundEventTriggered(event)
        }
        guard let size = update.inboundWindowSize, size <= HTTP2Limits.connectionWindow / 2 else { return }
        let more = HTTP2Frame(
            streamID: .rootStream, payload: .windowUpdate(windowSizeIncrement: HTTP2Limits.connectionWindow - size))
        context.writeAndFlush(wrapOutboundOut(more), promise: nil)
    }
}
