internal import HTTP1
internal import NIOCore
internal import Sockets

/// The end of a connection behind its last response.
extension HTTP1ServerCodec {
    /// Closes our side, and reads on for a little: closing at once would reset the connection while the client
    /// still sends, and the reset could overtake the response (RFC 9112 §9.6).
    func closeAfterResponse(_ context: ChannelHandlerContext) {
        rate.end()
        let wasReading = (input.readableBytes > 0 || !isAtRequestBoundary) && !hasInputEnded
        reading = .discarding
        input = ByteBuffer()
        // Nothing of a response that has left needs a half close; but TLS has its goodbye to say.
        if settings.tls == nil {
            context.flush()
            if !wasReading, SlowReader.unsentBytes(of: context.channel) == 0 { return context.close(promise: nil) }
        }
        // A client that is slow gets the time for what is still on its way to it: closing would throw that away.
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
            if hasInputEnded {
                // Closing the other half as well would close the whole at once, with what is still unsent.
                context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: sent)
            } else {
                context.close(mode: .output, promise: sent)
            }
        }
        if wasReading { context.read() }
    }

    /// All has been said. TLS would wait for the client's own goodbye, which is of no use to anybody. Not at once: its
    /// handler does not expect to be closed from below while it passes on bytes.
    private func closeSocket(_ context: ChannelHandlerContext) {
        guard settings.tls != nil else { return context.close(promise: nil) }
        let core = NIOLoopBound(context.channel._channelCore, eventLoop: context.eventLoop)
        context.eventLoop.execute { core.value.close0(error: ChannelError.eof, mode: .all, promise: nil) }
    }

    private func gatherSends(_ context: ChannelHandlerContext, _ body: () -> Void) {
        if let channel = context.channel as? SocketChannel { channel.gatherSends(body) } else { body() }
    }

    private var isAtRequestBoundary: Bool {
        if case .head = reading { return !parser.isInHead }
        return false
    }
}
