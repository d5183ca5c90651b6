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
    /// Whether an exchange has already been completed on it.
    private(set) var isReused = false
    /// When it is not put back any more, but replaced.
    let endsAt: NIODeadline
    /// When it was last put back.
    private(set) var idleSince = NIODeadline.uptimeNanoseconds(0)

    /// Connects for `exchange`, which hears when it is up or has failed.
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

    /// Takes it out of the pool for `exchange`.
    func reuse(for exchange: UpstreamExchange) {
        isReused = true
        use = .exchange(exchange)
    }

    /// Whether all that was announced has been received, and it was not the end. Only TLS, or an announcement that has
    /// not been followed to its end, costs a system call.
    func isEmpty() -> Bool { isNothing(curl?.receive()) }

    /// Whether nothing has come on it since its last response, neither bytes nor the end, as far as can be known
    /// without sending. It costs a system call.
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

    /// Closes it so that the backend cannot take what it has of a request for a whole one.
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
            // Either the end, or bytes that no request asked for: of no more use both ways.
            if !isSilent() { server.discardIdle(self) }
        case .connecting, .closed:
            break
        }
    }

    func connectionIsWritable() {
        if case .exchange(let exchange) = use { exchange.connectionIsWritable() }
    }
}
