internal import NIOCore
internal import NIOTLS

/// The HTTP version of a connection.
enum WireProtocol { case http1, http2 }

/// Detects the HTTP version of a connection and then replaces itself with its handlers. Over TLS, ALPN selects the
/// version (RFC 7301); otherwise HTTP/2 is recognized by its preface (RFC 9113 §3.3).
final class ProtocolSelector: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private static let preface = ByteBuffer(staticString: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    /// Nil without TLS.
    private let tls: TLSHandler?
    private let deadline: NIODeadline?
    private let settings: ListenerSettings
    private let connections: ConnectionSet
    private let refused: (ConnectionRefusal) -> Void
    /// Adds the protocol's handlers after this one.
    private let install: (WireProtocol, ChannelHandlerContext) throws -> Void
    private var input = ByteBuffer()
    private var isSelected = false
    private var isClosing = false
    private var context: ChannelHandlerContext?

    var setIndex = -1
    private(set) var nextDeadline = NIODeadline.distantFuture

    /// - Parameters:
    ///   - tls: the handler of the connection's handshake; nil without TLS.
    ///   - deadline: the deadline of a handshake that has begun; nil: its time begins with this handler.
    init(
        after tls: TLSHandler?, until deadline: NIODeadline?, settings: ListenerSettings,
        connections: ConnectionSet, refused: @escaping (ConnectionRefusal) -> Void,
        install: @escaping (WireProtocol, ChannelHandlerContext) throws -> Void
    ) {
        self.tls = tls
        self.deadline = deadline
        self.settings = settings
        self.connections = connections
        self.refused = refused
        self.install = install
    }

    private var isTLS: Bool { tls != nil }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        // A TLS client must begin the handshake at once. A plain connection may be opened ahead of its first request.
        nextDeadline =
            deadline ?? connections.now + (isTLS ? settings.handshakeTimeout : settings.keepAliveTimeout)
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
        if input.readableBytes == 0 { input = bytes } else { input.writeBuffer(&bytes) }
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
        if tls?.hasBegun == true { noteFailedHandshake() }
        close(context)
    }

    /// Errors that follow the end of a connection, such as a missing TLS close_notify, are not counted as a second
    /// failure.
    private func noteFailedHandshake() {
        guard !isSelected, !isClosing else { return }
        refused(.handshakeFailed)
    }

    private func close(_ context: ChannelHandlerContext) {
        isClosing = true
        context.close(promise: nil)
    }

    // MARK: Time and end

    func deadlinePassed() {
        guard let context, !isSelected else { return }
        if isTLS {
            noteFailedHandshake()
            close(context)
        } else if input.readableBytes == 0 {
            close(context)
        } else {
            // An incomplete preface is not HTTP/2. The HTTP/1.1 codec sends an error response.
            select(.http1, context)
        }
    }

    /// Set for a plain connection that has not sent anything yet.
    var idleSince: NIODeadline? {
        isTLS || isSelected || input.readableBytes > 0 ? nil : nextDeadline - settings.keepAliveTimeout
    }

    func drain() {
        // A connection that has sent nothing has nothing outstanding.
        if input.readableBytes == 0 { closeNow() }
    }

    func closeNow() {
        if let context { close(context) }
    }
}
