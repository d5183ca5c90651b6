internal import HTTP1
internal import NIOCore
internal import Sockets

/// Closing a connection after its last response.
extension HTTP1ServerCodec {
    /// Closes the gateway's side and keeps reading for a while: an immediate close would reset the connection while the
    /// client still sends, and the reset could overtake the response (RFC 9112 §9.6).
    func closeAfterResponse(_ context: ChannelHandlerContext) {
        rate.end()
        let wasReading = (input.readableBytes > 0 || !isAtRequestBoundary) && !hasInputEnded
        reading = .discarding
        input = ByteBuffer()
        // A response that has been sent entirely needs no half-close. TLS still has to send its close_notify.
        if settings.tls == nil {
            context.flush()
            if !wasReading, SlowReader.unsentBytes(of: context.channel) == 0 { return context.close(promise: nil) }
        }
        // A slow client gets time to receive the bytes still in transit: closing would discard them.
        deadline = connections.now + settings.keepAliveTimeout
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            guard let context = self.context else { return }
            guard wasReading else { return self.closeSocket(context) }
            self.deadline = .distantFuture
            self.lingering.begin(at: self.connections.now)
        }
        gatherSends(context) {
            context.flush()
            if hasInputEnded, settings.tls == nil {
                // Closing the second half would close the whole connection at once, and discard unsent bytes.
                context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
            } else {
                context.close(mode: .output, promise: sent)
            }
        }
        if wasReading { context.read() }
    }

    /// Closes the socket at once. Over TLS this neither sends a close_notify nor waits for the client's.
    func closeSocket(_ context: ChannelHandlerContext) {
        guard settings.tls != nil else { return context.close(promise: nil) }
        context.channel._channelCore.close0(error: ChannelError.eof, mode: .all, promise: nil)
    }

    private func gatherSends(_ context: ChannelHandlerContext, _ body: () -> Void) {
        if let channel = context.channel as? SocketChannel { channel.gatherSends(body) } else { body() }
    }

    private var isAtRequestBoundary: Bool {
        if case .head = reading { return !parser.isInHead }
        return false
    }
}
