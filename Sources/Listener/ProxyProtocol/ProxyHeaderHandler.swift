internal import NIOCore
internal import Pipeline

/// Reads the PROXY header with which a trusted peer's connection must begin, and then replaces itself with the handlers
/// of the client's protocol.
///
/// If the header is missing or invalid, the connection is closed without a response: the client is unknown.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connections: ConnectionSet
    private let timeout: TimeAmount
    private let refused: (ConnectionRefusal) -> Void
    /// Adds the handlers of the client's protocol after this one.
    private let install: (ProxyHeader, ChannelHandlerContext) throws -> Void
    private var input = ByteBuffer()
    private var isDone = false
    private var context: ChannelHandlerContext?

    var setIndex = -1
    private(set) var nextDeadline = NIODeadline.distantFuture

    init(
        timeout: TimeAmount, connections: ConnectionSet, refused: @escaping (ConnectionRefusal) -> Void,
        install: @escaping (ProxyHeader, ChannelHandlerContext) throws -> Void
    ) {
        self.timeout = timeout
        self.connections = connections
        self.refused = refused
        self.install = install
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        nextDeadline = connections.now + timeout
        connections.insert(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(self)
        self.context = nil
    }

    // MARK: The header

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDone else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        do throws(ProxyHeaderFault) {
            guard let header = try ProxyHeader.read(from: &input) else { return }
            proceed(header, context)
        } catch {
            refuse(.proxyHeaderMalformed, context)
        }
    }

    private func proceed(_ header: ProxyHeader, _ context: ChannelHandlerContext) {
        isDone = true
        do {
            try install(header, context)
        } catch {
            context.close(promise: nil)
            return
        }
        let rest = input
        input = ByteBuffer()
        if rest.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(rest))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    private func refuse(_ refusal: ConnectionRefusal, _ context: ChannelHandlerContext) {
        isDone = true
        input = ByteBuffer()
        refused(refusal)
        context.close(promise: nil)
    }

    // MARK: Time and end

    func deadlinePassed() {
        guard let context, !isDone else { return }
        refuse(.proxyHeaderTimeout, context)
    }

    func drain() {
        // A connection that has sent nothing has nothing outstanding.
        if input.readableBytes == 0 { closeNow() }
    }

    func closeNow() {
        context?.close(promise: nil)
    }
}
