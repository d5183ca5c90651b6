internal import HTTP2
internal import NIOCore

/// The errors, closing and deadlines of a connection.
extension HTTP2Connection {
    private static let drainPing: UInt64 = 0x6472_6169_6E00

    // MARK: Errors

    /// Ends the connection with an error of the client's.
    func fail(_ error: HTTP2Error) {
        guard phase != .ended else { return }
        session?.fail(error)
        _ = endIfFailed()
    }

    /// As ``fail(_:)``, for calls from within the session.
    func failLater(_ error: HTTP2Error) {
        guard errorCode == 0 else { return }
        session?.fail(error)
        scheduleFlush()
    }

    /// - Returns: whether the connection has ended.
    func endIfFailed() -> Bool {
        guard phase != .ended else { return true }
        guard errorCode != 0 else { return false }
        if let error = HTTP2ConnectionError(rawValue: errorCode) { service.connectionFailed(error) }
        for stream in streams.all { stream.connectionFailed() }
        end()
        return true
    }

    /// Ends a connection whose client did not complete a frame or head in time. No stream exists yet that could carry a
    /// response.
    private func endHead() {
        let fault: ListenerFault = heads.isTooSlow ? .requestTooSlow : .requestTimeout
        heads.stop()
        guard phase != .ended else { return }
        _ = service.refuse(fault, peer: peer)
        fail(.enhanceYourCalm)
    }

    // MARK: Ends

    func drain() {
        guard phase == .open, let context else { return }
        guard context.channel.isActive else { return context.close(promise: nil) }
        life.announce(at: connections.now)
        session?.announceEnd()
        // libnghttp2 would otherwise send the PING before the GOAWAY. The PING's return shows that the client has
        // received the GOAWAY.
        session?.produceControl()
        session?.ping(Self.drainPing)
        mustSend = true
        scheduleFlush()
    }

    func pingCameBack(_ payload: UInt64) {
        if phase == .announced, payload == Self.drainPing { refuseMore() }
    }

    func refuseMore() {
        life.refuseMore()
        session?.refuseMore()
        mustSend = true
        scheduleFlush()
    }

    func end() {
        guard phase != .ended, let context else { return }
        _ = writeOutput(context)
        life.end(at: connections.now)
        heads.stop()
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            self.life.linger(at: self.connections.now)
        }
        context.close(mode: .output, promise: sent)
    }

    func deadlinePassed() {
        guard let context else { return }
        if heads.deadline <= connections.now { return endHead() }
        switch life.deadlinePassed() {
        case .rest:
            reading.forget()
            session?.releaseIdleMemory()
        case .refuseMore: refuseMore()
        case .close: context.close(promise: nil)
        case nil: break
        }
    }

    var idleSince: NIODeadline? {
        guard let start = life.idleSince, streams.isEmpty, heads.deadline == .distantFuture, let context,
            SlowReader.unsentBytes(of: context.channel) == 0
        else { return nil }
        return start
    }

    func evict() {
        guard let context else { return }
        session?.refuseMore()
        session?.produceControl()
        _ = writeOutput(context)
        // TLS waits for the client's close_notify; meanwhile the connection no longer counts as idle.
        life.close(at: connections.now)
        context.close(promise: nil)
    }

    func closeNow() {
        let tunnels = streams.all.filter(\.response.isTunnel)
        if !isClosing, !tunnels.isEmpty {
            isClosing = true
            for tunnel in tunnels { tunnel.closeTunnel() }
            return
        }
        context?.close(promise: nil)
    }
}
