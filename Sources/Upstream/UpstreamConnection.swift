internal import Curl
internal import NIOCore

/// A connection to a backend: in use by one exchange, or idle in its pool.
final class UpstreamConnection: CurlConnectionDelegate {
    private enum Use {
        case connecting(UpstreamExchange)
        case exchange(UpstreamExchange)
        case idle
        case closed
    }

    private let server: ServerConnections
    private var curl: CurlConnection?
    private var use: Use
    /// Whether an exchange has already completed on this connection.
    private(set) var isReused = false
    /// The time from which the connection is no longer returned to the pool.
    let endsAt: NIODeadline
    /// The time at which the connection was last returned to the pool.
    private(set) var idleSince = NIODeadline.uptimeNanoseconds(0)

    /// Connects for `exchange`, which is notified when the connection is established or has failed.
    init(
        for exchange: UpstreamExchange, to target: CurlTarget, in server: ServerConnections, maximumAge: TimeAmount,
        on loop: CurlLoop
    ) throws(CurlFailure) {
        self.server = server
        self.use = .connecting(exchange)
        self.endsAt = .now() + maximumAge
        let curl = try CurlConnection(to: target, on: loop)
        self.curl = curl
        curl.delegate = self
    }

    func send(_ bytes: OutboundBytes) throws(CurlFailure) -> Int {
        guard let curl else { return 0 }
        return try curl.send(bytes.waiting, before: bytes.later)
    }

    func receive() -> CurlConnection.Received {
        curl?.receive() ?? .end
    }

    func shutDownOutput() {
        curl?.shutDownOutput()
    }

    /// Assigns a pooled connection to `exchange`.
    func reuse(for exchange: UpstreamExchange) {
        isReused = true
        use = .exchange(exchange)
    }

    /// Returns whether no bytes are left to receive and the connection has not ended. It costs a system call only with
    /// TLS, or if a reported event has not been processed completely.
    func isEmpty() -> Bool { isNothing(curl?.receive()) }

    /// Returns whether neither bytes nor the end have arrived since the last response, as far as can be known without
    /// sending. It costs a system call.
    func isSilent() -> Bool { isNothing(curl?.look()) }

    private func isNothing(_ received: CurlConnection.Received?) -> Bool {
        switch received {
        case .nothingYet: return true
        case .bytes:
            server.sawUnsolicitedBytes()
            return false
        case .end, .failed, nil: return false
        }
    }

    func becomeIdle(at now: NIODeadline) {
        use = .idle
        idleSince = now
    }

    func close() {
        use = .closed
        curl?.close()
        curl = nil
    }

    /// Closes the connection with a reset, so that the backend cannot take a partial request for a complete one.
    func reset() {
        use = .closed
        curl?.reset()
        curl = nil
    }

    // MARK: CurlConnectionDelegate

    func connectionIsUp() {
        guard case .connecting(let exchange) = use else { return }
        use = .exchange(exchange)
        exchange.connectionIsUp(self)
    }

    func connectionFailed(_ failure: CurlFailure) {
        guard case .connecting(let exchange) = use else { return }
        close()
        exchange.connectFailed(failure.kind == .timeout ? .connectTimeout : .cannotConnect(failure.description))
    }

    func connectionIsReadable() {
        switch use {
        case .exchange(let exchange):
            exchange.connectionIsReadable()
        case .idle:
            // The connection has ended, or bytes arrived without a request. In both cases it is unusable.
            if !isSilent() { server.discardIdle(self) }
        case .connecting, .closed:
            break
        }
    }

    func connectionIsWritable() {
        if case .exchange(let exchange) = use { exchange.connectionIsWritable() }
    }
}
