internal import NIOCore

/// Goes through a channel's handlers to the sink of a WebSocket: ``ExchangeSink/mustClose()``.
struct TunnelMustClose: Sendable {}

extension HTTP1ServerCodec {
    var isTunnel: Bool {
        if case .tunnel = reading { true } else { false }
    }

    /// The connection has become a WebSocket. Bytes that the client sent behind its request are passed on once the
    /// response's writer has returned.
    func beginTunnel(_ context: ChannelHandlerContext) {
        reading = .tunnel
        deadline = .distantFuture
        slowReader.stopWaiting()
        // From here on nobody looks whether the response before it has left.
        exchanges?.responseHasLeft()
        // The client may end its half first; what is on its way to it must not be lost. A channel that refuses this has
        // closed already.
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

    /// - Returns: whether there was something to pass on.
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
            exchanges?.receive(.end)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// - Returns: whether a tunnel closes by itself now, having been told for the first time.
    func closeTunnel() -> Bool {
        guard isTunnel, !hasReportedTunnel, let context else { return false }
        hasReportedTunnel = true
        context.fireUserInboundEventTriggered(TunnelMustClose())
        return true
    }
}
