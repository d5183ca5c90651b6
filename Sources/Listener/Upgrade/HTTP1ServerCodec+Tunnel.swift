internal import NIOCore

/// The event that makes the exchange handler call a WebSocket's ``ExchangeSink/mustClose()``.
struct TunnelMustClose: Sendable {}

extension HTTP1ServerCodec {
    var isTunnel: Bool {
        if case .tunnel = reading { true } else { false }
    }

    /// Turns the connection into a WebSocket. Bytes that the client sent after its request are passed on when the
    /// response's writer has returned.
    func beginTunnel(_ context: ChannelHandlerContext) {
        reading = .tunnel
        deadline = .distantFuture
        slowReader.stopWaiting()
        // From here on, no check detects that the previous response has been sent.
        exchanges?.responseHasLeft()
        // The client may close its half first; bytes in transit to it must not be lost. The option fails only if the
        // channel is already closed.
        try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        context.eventLoop.assumeIsolated().execute { self.releaseInput() }
    }

    private func releaseInput() {
        guard isTunnel, let context else { return }
        if input.readableBytes > 0 {
            decode(context)
            endOfInput(context)
        }
        if readIsPending {
            readIsPending = false
            awaitBytes(context)
        }
    }

    /// - Returns: whether bytes were passed on.
    func passThrough(_ context: ChannelHandlerContext) -> Bool {
        guard input.readableBytes > 0 else { return false }
        let bytes = input
        input = ByteBuffer()
        exchanges?.receive(.body(bytes))
        return true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .inputClosed? = event as? ChannelEvent, isTunnel {
            hasInputEnded = true
            // The end may come in the same turn as the 101, before the bytes that the client sent after its request
            // have been passed on.
            if input.readableBytes > 0 { decode(context) }
            exchanges?.receive(.end)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// - Returns: whether a tunnel was asked to close by this call; false for later calls.
    func closeTunnel() -> Bool {
        guard isTunnel, !hasReportedTunnel, let context else { return false }
        hasReportedTunnel = true
        context.fireUserInboundEventTriggered(TunnelMustClose())
        return true
    }
}
