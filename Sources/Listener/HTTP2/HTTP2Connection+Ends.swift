internal import HTTP2
internal import NIOCore

/// The errors and ends of a connection, and its deadlines.
extension HTTP2Connection {
    private static let drainPing: UInt64 = 0x6472_6169_6E00

    // MARK: Errors

    /// The client broke the rules of the connection.
    func fail(_ error: HTTP2Error) {
        guard phase != .ended else { return }
        session?.fail(error)
        _ = endIfFailed()
    }

    /// As ``fail(_:)``, from within the session.
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

    /// No stream is there yet that could have the answer.
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
        // libnghttp2 would send the PING first, whose return says that the client knows of the GOAWAY.
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
            session?.rest()
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
        // TLS waits for the client's goodbye; meanwhile the connection is no longer idle.
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
