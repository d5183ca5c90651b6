internal import NIOCore

/// Records whether a client has sent anything, and then leaves the pipeline. A client that connects and closes, such as
/// a load balancer's port check, has not failed a handshake. TLS itself reports both cases alike.
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
