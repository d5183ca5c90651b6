internal import NIOCore
internal import NIOTLS

/// What a connection turned out to speak.
enum WireProtocol { case http1, http2 }

/// Waits until a connection shows which HTTP it speaks, then makes room for what speaks it: over TLS the
/// negotiated protocol tells (RFC 7301), else whether the first bytes are HTTP/2's preface (RFC 9113 §3.3).
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = ByteBuffer(staticString: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    private let isTLS: Bool
    private let settings: ListenerSettings
    private let connections: ConnectionSet
    /// Adds the protocol's handlers behind this one.
    private let install: (WireProtocol, ChannelHandlerContext) throws -> Void
    private var input = ByteBuffer()
    private var isSelected = false
    private var context: ChannelHandlerContext?

    var setIndex = -1
    private(set) var nextDeadline = NIODeadline.distantFuture

    init(
        isTLS: Bool, settings: ListenerSettings, connections: ConnectionSet,
        install: @escaping (WireProtocol, ChannelHandlerContext) throws -> Void
    ) {
        self.isTLS = isTLS
        self.settings = settings
        self.connections = connections
        self.install = install
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // A handshake is owed at once; a plain connection may be opened ahead of its first request.
        nextDeadline = connections.now + (isTLS ? settings.handshakeTimeout : settings.keepAliveTimeout)
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
        if input.readableBytes == 0, !isTLS { nextDeadline = connections.now + settings.headTimeout }
        input.writeBuffer(&bytes)
        guard !isTLS else { return }
        let prefix = min(input.readableBytes, Self.preface.readableBytes)
        guard input.readableBytesView.prefix(prefix).elementsEqual(Self.preface.readableBytesView.prefix(prefix)) else {
            return select(.http1, context)
        }
        if prefix == Self.preface.readableBytes { select(.http2, context) }
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
        let held = input
        input = ByteBuffer()
        if held.readableBytes > 0 {
            context.fireChannelRead(wrapInboundOut(held))
            context.fireChannelReadComplete()
        }
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A handshake that failed, or a connection that broke.
        context.close(promise: nil)
    }

    // MARK: Time and end

    func deadlinePassed() {
        guard let context, !isSelected else { return }
        if isTLS || input.readableBytes == 0 {
            context.close(promise: nil)
        } else {
            // Half a preface is no HTTP/2; HTTP/1.1 has an answer for it.
            select(.http1, context)
        }
    }

    func drain() {
        // What has sent nothing has nothing outstanding.
        if input.readableBytes == 0 { closeNow() }
    }

    func closeNow() {
        context?.close(promise: nil)
    }
}
