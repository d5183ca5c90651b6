internal import NIOCore
internal import NIOTLS
internal import TLS

/// Inspects the first message of a handshake while challenges are pending. A handshake for a challenge gets the
/// challenge's certificate, and the connection ends with the handshake (RFC 8737, 3). All others proceed as ordinary
/// connections.
final class ChallengeHandshake: ChannelInboundHandler, RemovableChannelHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let challenges: PendingChallenges
    private let connections: ConnectionSet
    private let timeout: TimeAmount
    private let refused: () -> Void
    /// Adds the handlers of an ordinary connection behind this one; takes the deadline of the handshake.
    private let install: (ChannelHandlerContext, NIODeadline) throws -> Void
    private var input = ByteBuffer()
    private var reads = 0
    private var isDecided = false
    private var context: ChannelHandlerContext?

    var setIndex = -1
    private(set) var nextDeadline = NIODeadline.distantFuture

    init(
        _ challenges: PendingChallenges, timeout: TimeAmount, connections: ConnectionSet,
        refused: @escaping () -> Void, install: @escaping (ChannelHandlerContext, NIODeadline) throws -> Void
    ) {
        self.challenges = challenges
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

    // MARK: The first message

    /// The number of reads after which an incomplete message is left to TLS: each read parses it again from its first
    /// byte.
    private static let mostReads = 64

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDecided else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        input.writeBuffer(&bytes)
        reads += 1
        switch ClientHello.read(Array(input.readableBytesView)) {
        case .incomplete: if reads >= Self.mostReads { proceed(nil, context) }
        case .complete(let hello): proceed(challenges.context(for: hello), context)
        case .other: proceed(nil, context)
        }
    }

    private func proceed(_ challenge: TLSServerContext?, _ context: ChannelHandlerContext) {
        isDecided = true
        do {
            if let challenge {
                try context.pipeline.syncOperations.addHandlers(
                    TLSHandler(TLSServerSession(challenge), buffers: connections.plaintext), ChallengeEnd())
            } else {
                try install(context, nextDeadline)
            }
        } catch {
            context.close(promise: nil)
            return
        }
        let buffered = input
        input = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(buffered))
        context.fireChannelReadComplete()
        // For a challenge the handler stays, to enforce the handshake's deadline.
        if challenge == nil { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
    }

    // MARK: Time and end

    func deadlinePassed() {
        guard let context else { return }
        if input.readableBytes > 0 || isDecided { refused() }
        context.close(promise: nil)
    }

    func drain() {
        if input.readableBytes == 0, !isDecided { closeNow() }
    }

    func closeNow() { context?.close(promise: nil) }
}

/// Closes a connection when its handshake has succeeded or failed.
private final class ChallengeEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent { context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
