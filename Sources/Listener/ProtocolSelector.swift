internal import NIOCore
internal import NIOTLS

/// The HTTP version of a connection.
enum WireProtocol { case http1, http2 }

/// Waits for a connection's TLS handshake, and then replaces itself with the handlers of the HTTP version that ALPN
/// selected (RFC 7301). Without TLS, the codec of HTTP/1.1 recognizes HTTP/2 by its preface.
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let tls: TLSHandler
    private let connections: ConnectionSet
    /// Called for a handshake that failed, or did not end in time.
    private let handshakeFailed: () -> Void
    /// Adds the protocol's handlers after this one.
    private let install: (WireProtocol, ChannelHandlerContext) throws -> Void
    private var input = ByteBuffer()
    private var isSelected = false
    private var isClosing = false
    private var context: ChannelHandlerContext?

    var setIndex = -1
    let nextDeadline: NIODeadline

    /// - Parameter deadline: the deadline of the handshake.
    init(
        after tls: TLSHandler, until deadline: NIODeadline, connections: ConnectionSet,
        handshakeFailed: @escaping () -> Void, install: @escaping (WireProtocol, ChannelHandlerContext) throws -> Void
    ) {
        self.tls = tls
        nextDeadline = deadline
        self.connections = connections
        self.handshakeFailed = handshakeFailed
        self.install = install
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connections.insert(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(self)
        self.context = nil
    }

    // MARK: Selecting

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            select(negotiated == "h2" ? .http2 : .http1, context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isSelected else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
    }

    private func select(_ wireProtocol: WireProtocol, _ context: ChannelHandlerContext) {
        guard !isSelected else { return }
        isSelected = true
        do {
            try install(wireProtocol, context)
        } catch {
            context.close(promise: nil)
            return
        }
        let buffered = input
        input = ByteBuffer()
        if buffered.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(buffered))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A handshake that failed, or a connection that broke.
        if tls.hasBegun { noteFailedHandshake() }
        close(context)
    }

    /// Errors that follow the end of a connection, such as a missing TLS close_notify, are not counted as a second
    /// failure.
    private func noteFailedHandshake() {
        guard !isSelected, !isClosing else { return }
        handshakeFailed()
    }

    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        context.close(promise: nil)
    }

    // MARK: Time and end

    func deadlinePassed() {
        guard let context, !isSelected else { return }
        noteFailedHandshake()
        close(context)
    }

    func drain() {
        // A connection that has sent nothing has nothing outstanding.
        if input.readableBytes == 0 { closeNow() }
    }

    func closeNow() {
        if let context { close(context) }
    }
}
