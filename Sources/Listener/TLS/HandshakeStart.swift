internal import NIOCore

/// Sees whether a client has sent anything, and is gone then. Who connects and leaves, as a balancer does to see that
/// the port is open, has not failed at a handshake; TLS itself tells the two ends alike.
final class HandshakeStart: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private(set) var hasBegun = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasBegun = true
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
