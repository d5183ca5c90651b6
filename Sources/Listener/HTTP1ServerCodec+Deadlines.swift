internal import Glibc
internal import HTTP1
internal import NIOCore
internal import NIOSSL

/// The deadlines of a connection, and the ways to end it.
extension HTTP1ServerCodec {
    /// How long a connection that has nothing more for its client may last, whatever keeps it from being closed.
    static let farewell = TimeAmount.seconds(2)

    /// About how long a response's head is, and how much must have been written to look what of it waits.
    private static let headSize = 256
    private static let bytesWorthLooking = 4096

    /// How long a connection on which nothing happens remembers what its requests had in common.
    var briefWait: TimeAmount { min(.seconds(2), settings.keepAliveTimeout) }

    /// The connection waits for the next request.
    func keepAlive() {
        deadline = connections.now + (parser.remembers ? briefWait : settings.keepAliveTimeout)
    }

    func responseWaits() -> Bool {
        bytesSinceLook += Self.headSize
        // Asking the channel costs more than sending a small response. Waiting bytes may also belong to the next
        // response.
        guard bytesSinceLook >= Self.bytesWorthLooking, let context, outstanding?.responseHasBegun != true else {
            return false
        }
        bytesSinceLook = 0
        return slowReader.responseHasEnded(context.channel, at: connections.now)
    }

    func deadlinePassed() {
        guard let context else { return }
        let now = connections.now
        if slowReader.deadline <= now, !lookAtReader(context) { return breakOff() }
        guard rate.deadline > now else { return fail(.requestTooSlow, context) }
        guard lingering.deadline > now else { return context.close(promise: nil) }
        guard deadline <= now else { return }
        switch reading {
        case _ where slowReader.hasUnsentResponse && outstanding == nil && isBetweenRequests:
            // The time is the slow reader's.
            deadline = .distantFuture
        case .discarding:
            breakOff()
        case .head where outstanding != nil, .tunnel:
            break
        case .head where !parser.isInHead && input.readableBytes == 0:
            if parser.remembers, briefWait < settings.keepAliveTimeout {
                parser.forget()
                deadline = deadline + (settings.keepAliveTimeout - briefWait)
            } else if slowReader.responseHasEnded(context.channel, at: now) {
                // So little of it that nobody looked.
                deadline = .distantFuture
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

    /// - Returns: whether the client takes enough.
    private func lookAtReader(_ context: ChannelHandlerContext) -> Bool {
        switch slowReader.look(at: context.channel, at: connections.now) {
        case .stuck: return false
        case .waiting: return true
        case .sent:
            exchanges?.responseHasLeft()
            // From now on the client may think about its next request, or has the end of ours to see.
            if isBetweenRequests, outstanding == nil, lingering.deadline == .distantFuture { keepAlive() }
            return true
        }
    }

    /// Whether nothing of a request has come behind the last one.
    private var isBetweenRequests: Bool {
        switch reading {
        case .head: !parser.isInHead && input.readableBytes == 0
        case .discarding: true
        case .body, .tunnel: false
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
        deadline = connections.now + Self.farewell
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
        if !closeTunnel() { breakOff() }
    }

    /// Ends the connection with a TCP reset, and over TLS without a goodbye. Not at once: the TLS handler does not
    /// expect to be closed from below while it passes on bytes.
    func reset(_ context: ChannelHandlerContext) {
        context.eventLoop.assumeIsolated().execute {
            guard let context = self.context else { return }
            // A socket that refuses this has closed already.
            _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
            let tls = try? context.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
            (tls ?? context).close(promise: nil)
        }
    }
}
