internal import HTTP1
internal import NIOCore

/// What a connection does when its time is over, and how it is made to end.
extension HTTP1ServerCodec {
    /// How long is read on after the last response.
    static let lingering = TimeAmount.seconds(2)

    /// How long a connection on which nothing happens remembers what its requests had in common.
    var briefWait: TimeAmount { min(.seconds(2), settings.keepAliveTimeout) }

    func deadlinePassed() {
        guard let context else { return }
        if slowReader.deadline <= connections.now {
            if !slowReader.hasTakenSome(of: context.channel, at: connections.now) { context.close(promise: nil) }
            return
        }
        guard rate.deadline > connections.now else { return fail(.requestTooSlow, context) }
        switch reading {
        case .discarding:
            context.close(promise: nil)
        case .head where outstanding != nil, .tunnel:
            break
        case .head where !parser.isInHead && input.readableBytes == 0:
            if parser.remembers, briefWait < settings.keepAliveTimeout {
                parser.forget()
                deadline = deadline + (settings.keepAliveTimeout - briefWait)
            } else {
                endIdle(context)
            }
        case .body where !isReading:
            // It is the service that is slow. The client's time begins when it is read from again.
            deadline = connections.now + settings.bodyIdleTimeout
        case .head, .body:
            fail(.requestTimeout, context)
        }
    }

    /// Between two requests, or before the first, when the last response has left.
    var idleSince: NIODeadline? {
        guard case .head = reading, outstanding == nil, !parser.isInHead, input.readableBytes == 0, !isDraining,
            let context, SlowReader.unsentBytes(of: context.channel) == 0
        else { return nil }
        return deadline - (parser.remembers ? briefWait : settings.keepAliveTimeout)
    }

    func evict() {
        if let context { endIdle(context) }
    }

    /// Ends a connection on which nothing is outstanding. TLS waits for the client's goodbye: from now on no request is
    /// taken, which nobody could be answered, and the connection is no longer idle.
    private func endIdle(_ context: ChannelHandlerContext) {
        reading = .discarding
        deadline = connections.now + Self.lingering
        context.close(promise: nil)
    }

    func drain() {
        guard let context, !isDraining else { return }
        isDraining = true
        guard outstanding == nil, input.readableBytes == 0 else { return }
        guard context.channel.isActive else {
            context.close(promise: nil)
            return
        }
        if case .head = reading { closeAfterResponse(context) }
    }

    func closeNow() {
        if !closeTunnel() { context?.close(promise: nil) }
    }
}
