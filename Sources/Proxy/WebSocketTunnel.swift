internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline
internal import Upstream

/// A WebSocket on its way through: from the upgrade request to the last byte in either direction.
///
/// It stands between the exchange, which is the client's side, and the backend. Bytes pass as they come; only where
/// frames begin is looked at, so that a Close frame of the gateway's own can be put between two of them.
final class WebSocketTunnel: UpstreamResponseReceiver {
    enum Phase {
        /// The backend has not answered. The client's bytes wait here.
        case asking
        /// The backend declined; the exchange passes on what it answers.
        case declined
        case open
        /// The client has ended its half; what the backend still says goes on for a little.
        case clientEnded
        /// The client is to get a Close frame as soon as the frame that is on its way to it has ended.
        case closing(WebSocketClose)
        /// The client's side is done with. The backend gets the time to end as well.
        case leaving
        case done
    }

    /// Let go at the client's end, which breaks the cycle with it.
    var exchange: Exchange?
    private(set) var upstream: UpstreamExchange?
    let grant: WebSocketGrant
    let eventLoop: any EventLoop
    var phase = Phase.asking
    private var held: ByteBuffer?
    private(set) var hasClientEnded = false
    private(set) var fromBackend = WebSocketFrameTracker(isMasked: false)
    private(set) var fromClient = WebSocketFrameTracker(isMasked: true)
    private(set) var lastActivity = NIODeadline.now()
    var alarm: Scheduled<Void>?

    init(_ exchange: Exchange, _ grant: WebSocketGrant, eventLoop: any EventLoop) {
        self.exchange = exchange
        self.grant = grant
        self.eventLoop = eventLoop
    }

    func begin(_ upstream: UpstreamExchange) {
        self.upstream = upstream
    }

    // MARK: The backend

    var clientHash: UInt64 { exchange?.clientHash ?? 0 }

    func upstreamResponded(_ head: ResponseHead) {
        guard let exchange, let upstream else { return }
        let head = head.response
        guard head.status == .switchingProtocols else {
            phase = .declined
            exchange.webSocketWasDeclined(head, upstream)
            return
        }
        phase = .open
        exchange.webSocketOpened(head, grant)
        // The client may have gone while it was told.
        guard case .open = phase else { return }
        lastActivity = .now()
        setAlarm()
        if let held {
            self.held = nil
            if receive(held) { exchange.resumeClient() }
        }
        if hasClientEnded { receiveEnd() }
    }

    func upstreamSent(_ body: ByteBuffer) {
        switch phase {
        case .open, .clientEnded:
            lastActivity = .now()
            fromBackend.advance(over: body.readableBytesUInt8Span)
            pass(body)
        case .closing(let close):
            guard let end = fromBackend.advance(toBoundaryIn: body.readableBytesUInt8Span) else {
                pass(body)
                if !fromBackend.isTracking { leave(.webSocket(close.reason)) }
                return
            }
            pass(body.getSlice(at: body.readerIndex, length: end) ?? ByteBuffer())
            putIn(close)
        case .declined:
            exchange?.upstreamSent(body)
        case .asking, .leaving, .done:
            break
        }
    }

    func pass(_ bytes: ByteBuffer) {
        if exchange?.sendToClient(bytes) == false { upstream?.pause() }
    }

    func upstreamPaused() {
        exchange?.upstreamPaused()
    }

    func upstreamFinished(trailers: HTTPFields?) {
        switch phase {
        case .declined: exchange?.upstreamFinished(trailers: trailers)
        case .closing(let close): exchange?.webSocketEnded(.webSocket(close.reason))
        default: exchange?.webSocketEnded(nil)
        }
        end()
    }

    func upstreamFailed(_ fault: UpstreamFault) {
        switch phase {
        case .asking, .declined: exchange?.upstreamFailed(fault)
        case .closing(let close): exchange?.webSocketEnded(.webSocket(close.reason), brokenOff: true)
        default: exchange?.webSocketEnded(.upstream(fault.reason), brokenOff: true)
        }
        end()
    }

    func upstreamWantsBody() {
        exchange?.upstreamWantsBody()
    }

    // MARK: The client

    /// - Returns: whether more is wanted now.
    func receive(_ bytes: ByteBuffer) -> Bool {
        switch phase {
        case .asking:
            hold(bytes)
            return false
        case .open:
            lastActivity = .now()
            fromClient.advance(over: bytes.readableBytesUInt8Span)
            return upstream?.send(body: bytes) ?? true
        case .declined, .clientEnded, .closing, .leaving, .done:
            return true
        }
    }

    private func hold(_ bytes: ByteBuffer) {
        if held == nil {
            held = bytes
        } else {
            held?.writeImmutableBuffer(bytes)
        }
    }

    /// The client has ended its half.
    func receiveEnd() {
        // Over HTTP/1.1 this is only the end of the request.
        if case .asking = phase, grant.key != nil { return }
        hasClientEnded = true
        guard case .open = phase else { return }
        phase = .clientEnded
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
        phase = .done
        alarm?.cancel()
        alarm = nil
        exchange = nil
        upstream = nil
        held = nil
    }
}
