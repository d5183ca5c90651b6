internal import NIOCore

/// The change to HTTP/2 on a connection without TLS (RFC 9113 §3.3).
extension HTTP1ServerCodec {
    /// Compares the first bytes of a connection with the preface of HTTP/2, and leaves the connection to that if they
    /// are the same.
    ///
    /// - Returns: false while they may be the preface, or if they were.
    func beginsRequest(
        _ context: ChannelHandlerContext, _ installHTTP2: (ChannelHandlerContext) throws -> Void
    ) -> Bool {
        switch HTTP2Preface.compare(input) {
        case .different:
            self.installHTTP2 = nil
            return true
        case .incomplete:
            beginHead()
        case .same:
            self.installHTTP2 = nil
            leave(context, installHTTP2)
        }
        return false
    }

    private func leave(_ context: ChannelHandlerContext, _ install: (ChannelHandlerContext) throws -> Void) {
        do {
            try install(context)
        } catch {
            return context.close(promise: nil)
        }
        let pipeline = context.pipeline.syncOperations
        if let exchanges { pipeline.removeHandler(exchanges, promise: nil) }
        let bytes = input
        input = ByteBuffer()
        context.fireChannelRead(wrapInboundOut(bytes))
        context.fireChannelReadComplete()
        pipeline.removeHandler(context: context, promise: nil)
    }
}
