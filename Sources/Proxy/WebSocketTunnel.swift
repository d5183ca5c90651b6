internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline
internal import Upstream

/// A proxied WebSocket, from the upgrade request to the last byte in either direction.
///
/// It connects the exchange, which is the client's side, to the backend, and executes the actions of its state. Bytes
/// are forwarded unchanged.
final class WebSocketTunnel: UpstreamResponseReceiver {
    /// Set to nil when the client's side ends, which breaks the reference cycle.
    var exchange: Exchange?
    private(set) var upstream: UpstreamExchange?
    let grant: WebSocketGrant
    let eventLoop: any EventLoop
    var state: WebSocketTunnelState
    private var buffered: ByteBuffer?
    private(set) var lastActivity = NIODeadline.now()
    var alarm: Scheduled<Void>?

    init(_ exchange: Exchange, _ grant: WebSocketGrant, eventLoop: any EventLoop) {
        self.exchange = exchange
        self.grant = grant
        self.eventLoop = eventLoop
        self.state = WebSocketTunnelState(requestEnds: grant.key != nil)
    }

    func begin(_ upstream: UpstreamExchange) {
        self.upstream = upstream
    }

    // MARK: The backend

    var clientHash: UInt64 { exchange?.clientHash ?? 0 }
    var requestID: String { exchange?.requestID ?? "" }

    func upstreamResponded(_ head: ResponseHead) {
        guard let exchange, let upstream else { return }
        let head = head.response
        let opens = head.status == .switchingProtocols
        guard state.backendAnswered(opens: opens) else { return }
        guard opens else { return exchange.webSocketWasDeclined(head, upstream) }
        exchange.webSocketOpened(head, grant)
        // The client may have disconnected during the previous call.
        guard state.isOpen else { return }
        lastActivity = .now()
        setAlarm()
        if let buffered = buffered.take(), receive(buffered) { exchange.resumeClient() }
        if state.hasClientEnded { receiveEnd() }
    }

    func upstreamSent(_ body: ByteBuffer) {
        switch state.backendSent(body.readableBytesUInt8Span) {
        case .ignore:
            break
        case .respond:
            exchange?.upstreamSent(body)
        case .pass:
            lastActivity = .now()
            exchange?.service.watch.workBegan()
            pass(body)
        case .close(let end, let close):
            pass(body.getSlice(at: body.readerIndex, length: end) ?? ByteBuffer())
            putIn(close)
        case .passAndLeave(let close):
            pass(body)
            leave(.webSocket(close.reason))
        }
    }

    func pass(_ bytes: ByteBuffer) {
        if exchange?.sendToClient(bytes) == false { upstream?.pause() }
    }

    func upstreamReadComplete() {
        exchange?.upstreamReadComplete()
    }

    func upstreamFinished(trailers: HTTPFields?) {
        switch state.backendEnded() {
        case .ignore: break
        case .response: exchange?.upstreamFinished(trailers: trailers)
        case .webSocket(let close): exchange?.webSocketEnded(close.map { .webSocket($0.reason) })
        }
        end()
    }

    func upstreamFailed(_ fault: UpstreamError) {
        switch state.backendEnded() {
        case .ignore: break
        case .response: exchange?.upstreamFailed(fault)
        case .webSocket(let close):
            exchange?.webSocketEnded(close.map { .webSocket($0.reason) } ?? .upstream(fault.reason), brokenOff: true)
        }
        end()
    }

    func upstreamWantsBody() {
        exchange?.upstreamWantsBody()
    }

    // MARK: The client

    /// - Returns: whether the client may send more now.
    func receive(_ bytes: ByteBuffer) -> Bool {
        switch state.clientSent(bytes.readableBytesUInt8Span) {
        case .ignore:
            return true
        case .hold:
            hold(bytes)
            return false
        case .pass:
            lastActivity = .now()
            exchange?.service.watch.workBegan()
            return upstream?.send(body: bytes) ?? true
        }
    }

    private func hold(_ bytes: ByteBuffer) {
        // Copied, so that the buffered part does not retain the whole read buffer.
        buffered = buffered ?? ByteBuffer()
        buffered?.writeImmutableBuffer(bytes)
    }

    /// Processes the end of the client's half.
    func receiveEnd() {
        guard state.clientEnded() else { return }
        setAlarm(in: Self.closingLimit)
        upstream?.finishBody()
    }

    func clientIsWritable(_ isWritable: Bool) {
        if isWritable { upstream?.resume() } else { upstream?.pause() }
    }

    /// Cancels the exchange with the backend: the client has disconnected or its request has failed.
    func clientDisconnected() {
        let upstream = upstream
        end()
        upstream?.cancel()
    }

    private func end() {
        state.end()
        alarm?.cancel()
        alarm = nil
        exchange = nil
        upstream = nil
        buffered = nil
    }
}
