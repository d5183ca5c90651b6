internal import NIOCore
internal import NIOTLS
internal import Sockets
internal import TLS

/// Encrypts and decrypts the bytes of a connection, and performs the handshake and the exchange of close_notify alerts.
///
/// Writes before the end of the handshake fail. No handler that writes exists before then.
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    enum Failure: Error {
        case handshake
        case refusedRecord
        /// The client's end may have been forged (RFC 8446 §6.1).
        case missingCloseNotify
    }

    private enum Phase {
        case handshaking, open
        /// The gateway's close_notify has been written, and the client may still send.
        case outputClosed
        /// The connection closes when the client's close_notify arrives, or after the timeout. Bytes that arrive are
        /// dropped.
        case closing
        case closed
    }

    /// The time that a client has to answer close_notify. Nothing depends on the answer. Where input is still expected,
    /// the protocol's handler reads it before it closes; see ``Lingering``.
    private static let closeTimeout = TimeAmount.milliseconds(100)

    private let session: TLSServerSession
    private let buffers: ReceiveBuffers
    private var phase = Phase.handshaking
    /// Whether the client has sent anything. One that connects and closes, such as a load balancer's port check, has
    /// not failed a handshake.
    private(set) var hasBegun = false
    private var hasReceivedEnd = false
    /// Whether bytes were passed on since the last ``channelReadComplete(context:)``.
    private var hasPassedOn = false
    private var mustFlush = false
    private var closePromise: EventLoopPromise<Void>?
    private var timeout: Scheduled<Void>?

    /// - Parameter buffers: for decrypted bytes.
    init(_ session: TLSServerSession, buffers: ReceiveBuffers) {
        self.session = session
        self.buffers = buffers
    }

    /// Whether the connection speaks TLS 1.3; otherwise TLS 1.2. Known after the handshake.
    var isTLS13: Bool { session.isTLS13 }

    func handlerRemoved(context: ChannelHandlerContext) { finish() }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Data after close_notify is ignored (RFC 8446 §6.1).
        guard phase != .closed, !hasReceivedEnd else { return }
        hasBegun = true
        session.receive(unwrapInboundIn(data))
        if phase == .handshaking {
            switch session.handshake() {
            case .needsInput: return writeOutput(context)
            case .failed: return fail(.handshake, context)
            case .completed:
                phase = .open
                writeOutput(context)
                context.fireUserInboundEventTriggered(
                    TLSUserEvent.handshakeCompleted(negotiatedProtocol: session.applicationProtocol))
            }
        }
        decrypt(context)
    }

    private func decrypt(_ context: ChannelHandlerContext) {
        while phase != .closed {
            let (bytes, end) = session.decrypt(by: buffers)
            if bytes.readableBytes > 0, end != .failed, phase != .closing {
                hasPassedOn = true
                context.fireChannelRead(wrapInboundOut(bytes))
            }
            switch end {
            case .bufferIsFull: continue
            case .needsInput: return writeOutput(context)
            case .closed: return receivedEnd(context)
            case .failed: return fail(.refusedRecord, context)
            }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        flushOutput(context)
        if hasPassedOn {
            hasPassedOn = false
            context.fireChannelReadComplete()
        }
    }

    /// Called when the client's close_notify has arrived.
    private func receivedEnd(_ context: ChannelHandlerContext) {
        guard !hasReceivedEnd, phase != .closed else { return }
        hasReceivedEnd = true
        session.dropInput()
        if hasPassedOn {
            hasPassedOn = false
            context.fireChannelReadComplete()
        }
        switch phase {
        case .open where mayHalfClose(context): context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        case .open, .outputClosed: close(context: context, mode: .all, promise: nil)
        case .closing: closeChannel(context)
        case .handshaking, .closed: break
        }
    }

    private func mayHalfClose(_ context: ChannelHandlerContext) -> Bool {
        (try? context.channel.syncOptions?.getOption(.allowRemoteHalfClosure)) ?? false
    }

    private func fail(_ failure: Failure, _ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        phase = .closed
        session.dropInput()
        writeOutput(context)
        flushOutput(context)
        context.fireErrorCaught(failure)
        closeChannel(context)
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard phase == .open else {
            promise?.fail(phase == .outputClosed ? ChannelError.outputClosed : ChannelError.ioOnClosedChannel)
            return
        }
        let bytes = unwrapOutboundIn(data)
        // An empty write has its place among the others.
        guard bytes.readableBytes > 0 else { return context.write(data, promise: promise) }
        guard let records = session.encrypt(bytes) else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return fail(.refusedRecord, context)
        }
        context.write(wrapOutboundOut(records), promise: promise)
    }

    /// Writes the session's own records, such as a handshake's or an alert.
    private func writeOutput(_ context: ChannelHandlerContext) {
        guard let records = session.takeOutput() else { return }
        mustFlush = true
        context.write(wrapOutboundOut(records), promise: nil)
    }

    private func flushOutput(_ context: ChannelHandlerContext) {
        guard mustFlush else { return }
        mustFlush = false
        context.flush()
    }

    // MARK: The end

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        switch (mode, phase) {
        case (.input, _): promise?.fail(ChannelError.operationUnsupported)
        case (.output, .open):
            phase = .outputClosed
            writeCloseNotify(context)
            // Closing the second half would close the whole connection at once, and discard unsent bytes.
            guard !hasReceivedEnd else { return context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: promise) }
            context.close(mode: .output, promise: promise)
        case (.output, _): context.close(mode: .output, promise: promise)
        case (.all, .handshaking), (.all, .closed):
            phase = .closed
            context.close(promise: promise)
        case (.all, .open), (.all, .outputClosed):
            let mustNotify = phase == .open
            phase = .closing
            closePromise = promise
            if mustNotify { writeCloseNotify(context) }
            // The connection may have broken meanwhile.
            guard phase == .closing else { return }
            if hasReceivedEnd { closeChannel(context) } else { awaitEnd(context) }
        case (.all, .closing):
            guard let promise else { break }
            if let closePromise { closePromise.futureResult.cascade(to: promise) } else { closePromise = promise }
        }
    }

    private func writeCloseNotify(_ context: ChannelHandlerContext) {
        session.shutDown()
        writeOutput(context)
        flushOutput(context)
    }

    private func awaitEnd(_ context: ChannelHandlerContext) {
        timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeTimeout) {
            self.timeout = nil
            if self.phase == .closing { self.closeChannel(context) }
        }
    }

    private func closeChannel(_ context: ChannelHandlerContext) {
        phase = .closed
        stopTimer()
        let promise = closePromise
        closePromise = nil
        context.close(promise: promise)
    }

    /// Cancels the timer and releases it, because it retains this handler.
    private func stopTimer() {
        timeout?.cancel()
        timeout = nil
    }

    /// Called when the connection has ended.
    private func finish() {
        phase = .closed
        stopTimer()
        closePromise?.succeed()
        closePromise = nil
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case ChannelEvent.inputClosed? = event as? ChannelEvent else {
            return context.fireUserInboundEventTriggered(event)
        }
        switch phase {
        case .handshaking: endHandshake(context)
        case .closing: closeChannel(context)
        case .open, .outputClosed:
            // The handlers were told when close_notify arrived.
            guard !hasReceivedEnd else { return }
            context.fireErrorCaught(Failure.missingCloseNotify)
            context.fireUserInboundEventTriggered(event)
        case .closed: context.fireUserInboundEventTriggered(event)
        }
    }

    private func endHandshake(_ context: ChannelHandlerContext) {
        phase = .closed
        if hasBegun { context.fireErrorCaught(Failure.handshake) }
        closeChannel(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let wasHandshaking = phase == .handshaking
        finish()
        if wasHandshaking, hasBegun { context.fireErrorCaught(Failure.handshake) }
        context.fireChannelInactive()
    }
}
