internal import Glibc
internal import HTTP1
internal import NIOCore

/// The deadlines of a connection, and how it is closed.
extension HTTP1ServerCodec {
    /// The longest time that a connection may stay open once the gateway has nothing more to send.
    static let farewell = TimeAmount.seconds(2)

    /// The approximate size of a response's head, and the number of written bytes after which the channel's unsent
    /// bytes are checked.
    private static let headSize = 256
    private static let bytesWorthLooking = 4096

    /// How long an idle connection keeps the cached fields of its previous requests.
    var briefWait: TimeAmount { min(.seconds(2), settings.keepAliveTimeout) }

    /// Begins to wait for the next request.
    func keepAlive() {
        deadline = connections.now + (parser.remembers ? briefWait : settings.keepAliveTimeout)
    }

    func responseWaits() -> Bool {
        bytesSinceLook += Self.headSize
        // Querying the channel costs more than sending a small response. Unsent bytes may also belong to the next
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
            // The slow reader's deadline applies.
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
                // The response was too small for an earlier check.
                deadline = .distantFuture
            } else {
                endIdle(context)
            }
        case .body where !isReading:
            // The service is slow, not the client. The client's time begins when reading resumes.
            deadline = connections.now + settings.bodyIdleTimeout
        case .head, .body:
            fail(.requestTimeout, context)
        }
    }

    /// - Returns: whether the client takes its response fast enough.
    private func lookAtReader(_ context: ChannelHandlerContext) -> Bool {
        switch slowReader.look(at: context.channel, at: connections.now) {
        case .stuck: return false
        case .waiting: return true
        case .sent:
            exchanges?.responseHasLeft()
            // From now on the connection waits for the client's next request, or for the client to close it.
            if isBetweenRequests, outstanding == nil, lingering.deadline == .distantFuture { keepAlive() }
            return true
        }
    }

    /// Whether no byte of another request has arrived.
    private var isBetweenRequests: Bool {
        switch reading {
        case .head: !parser.isInHead && input.readableBytes == 0
        case .discarding: true
        case .body, .tunnel: false
        }
    }

    /// Set between two requests or before the first, if the last response has been sent entirely.
    var idleSince: NIODeadline? {
        guard case .head = reading, outstanding == nil, !parser.isInHead, input.readableBytes == 0, !isDraining,
            let context, SlowReader.unsentBytes(of: context.channel) == 0
        else { return nil }
        return deadline - (parser.remembers ? briefWait : settings.keepAliveTimeout)
    }

    func evict() {
        if let context { endIdle(context) }
    }

    /// Closes a connection on which nothing is outstanding. TLS waits for the client's close_notify: from now on no
    /// request is accepted, since it could not be answered, and the connection no longer counts as idle.
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

    /// Closes the connection with a TCP reset, and over TLS without a close_notify.
    func reset(_ context: ChannelHandlerContext) {
        // The option fails only if the socket is already closed.
        _ = (context.channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
        closeSocket(context)
    }
}
