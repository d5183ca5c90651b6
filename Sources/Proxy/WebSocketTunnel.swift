internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline
internal import Upstream

/// A WebSocket on its way through: from the upgrade request to the last byte in either direction.
///
/// It stands between the exchange, which is the client's side, and the backend, and does what its state decides. Bytes
/// pass as they come.
final class WebSocketTunnel: UpstreamResponseReceiver {
    /// Let go at the client's end, which breaks the cycle with it.
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
        // The client may have gone while it was told.
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

    func upstreamPaused() {
        exchange?.upstreamPaused()
    }

    func upstreamFinished(trailers: HTTPFields?) {
        switch state.backendEnded() {
        case .ignore: break
        case .response: exchange?.upstreamFinished(trailers: trailers)
        case .webSocket(let close): exchange?.webSocketEnded(close.map { .webSocket($0.reason) })
        }
        end()
    }

    func upstreamFailed(_ fault: UpstreamFault) {
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

    /// - Returns: whether more is wanted now.
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
        // Copied: a part that waits keeps nothing of what came with it.
        buffered = buffered ?? ByteBuffer()
        buffered?.writeImmutableBuffer(bytes)
    }

    /// The client has ended its half.
    func receiveEnd() {
        guard state.clientEnded() else { return }
        setAlarm(in: Self.closingLimit)
        upstream?.finishBody()
    }

    func clientIsWritable(_ isWritable: Bool) {
        if isWritable { upstream?.resume() } else { upstream?.pause() }
    }

    /// The client has gone, or its request has failed: nobody is left to tell.
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
