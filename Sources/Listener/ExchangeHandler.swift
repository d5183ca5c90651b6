internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

/// Passes requests to the service and responses back, for HTTP/1.1 connections and HTTP/2 streams alike. Both sides use
/// swift-http-types. On a connection it is the handler behind the codec. A stream has no channel of its own, and calls
/// it directly.
final class ExchangeHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = Never
    typealias OutboundIn = Never

    private enum State {
        case idle
        /// The head waits for the next part, which shows whether there is a body.
        case head(HTTPRequest)
        case running(any ExchangeSink)
        /// The service has responded; the rest of the request is ignored.
        case answered
    }

    private let service: any RequestService
    private let codec: any MessageCodec
    private let flushes: EndOfTurnFlushes
    private let peer: String
    private let peerCounters: AddressCounters?
    private let shared: SharedListenerSettings
    private let transport: ClientProtocol
    /// Whether the connection or stream is still open.
    private var isAttached = false
    private var state = State.idle
    private var exchange: UInt64 = 0
    private var responseIsOpen = false
    /// The channel's last reported writability. Querying the channel at each write would cost more.
    private var isWritable = true
    private var bodyIsPaused = false
    private var readIsPending = false
    /// The sink of a response that has ended but has not been flushed.
    private var ended: (any ExchangeSink)?
    /// Called when the client has received all finished responses; nil if none is pending.
    private var onSent: (() -> Void)?

    /// - Parameters:
    ///   - shared: the settings of the connection.
    ///   - codec: the handler below this one.
    ///   - flushes: the end-of-turn flushes of the event loop.
    ///   - peer: the client's address.
    ///   - peerCounters: the counters of that address; nil if it is not counted.
    ///   - transport: the TLS properties of the connection; the codec adds the HTTP version.
    init(
        _ service: any RequestService, _ shared: SharedListenerSettings, codec: any MessageCodec,
        flushes: EndOfTurnFlushes, peer: String, peerCounters: AddressCounters? = nil,
        transport: ClientProtocol = ClientProtocol()
    ) {
        self.service = service
        self.codec = codec
        self.flushes = flushes
        self.peer = peer
        self.peerCounters = peerCounters
        self.shared = shared
        self.transport = transport
        codec.exchanges = self
    }

    func handlerAdded(context: ChannelHandlerContext) {
        attach(isWritable: context.channel.isWritable)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        detach()
    }

    /// Called when the connection or stream begins.
    func attach(isWritable: Bool) {
        isAttached = true
        self.isWritable = isWritable
    }

    /// Called when the connection or stream has closed.
    func detach() {
        disconnect()
        isAttached = false
    }

    // MARK: Requests

    /// Receives a part of a request.
    func receive(_ part: RequestPart) {
        switch part {
        case .head(let head):
            state = .head(head)
        case .body(let body):
            if case .head(let head) = state { begin(head, hasBody: true) }
            guard case .running(let sink) = state else { return }
            // The sink may accept a later part of the same read again.
            bodyIsPaused = !sink.receive(body)
            if !bodyIsPaused { releaseRead() }
        case .end:
            if case .head(let head) = state { begin(head, hasBody: false) }
            if case .running(let sink) = state { sink.receiveEnd() }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        readComplete()
        context.fireChannelReadComplete()
    }

    /// Called when all parts of one read have been received.
    func readComplete() {
        if case .head(let head) = state { begin(head, hasBody: true) }
    }

    private func begin(_ head: HTTPRequest, hasBody: Bool) {
        exchange &+= 1
        responseIsOpen = true
        bodyIsPaused = false
        let length = hasBody ? head.headerFields[.contentLength].flatMap(Int.init) : nil
        var clientProtocol = transport
        clientProtocol.http = codec.httpVersion
        let isMisdirected =
            if let serverNames = shared.values.serverNames, let authority = head.authority {
                !serverNames.contains(authority)
            } else {
                false
            }
        // Passed on as it is made: a variable would be copied.
        let sink = service.begin(
            InboundRequest(
                head: head, body: !hasBody ? .none : length.map { .length($0) } ?? .unknownLength, peer: peer,
                peerCounters: peerCounters, receivedAt: .now(), isMisdirected: isMisdirected,
                httpsPort: shared.values.httpsPort, authorization: shared.values.authorization,
                clientProtocol: clientProtocol, challengeResponse: shared.values.challenges?.response(to: head)),
            ResponseWriter(self, exchange: exchange))
        // The service may already have responded.
        if !responseIsOpen { ended = sink }
        if case .head = state { state = responseIsOpen ? .running(sink) : .answered }
    }

    // MARK: Backpressure

    func read(context: ChannelHandlerContext) {
        if wantsBody() { context.read() }
    }

    /// Whether the service has paused the body.
    var isPaused: Bool { bodyIsPaused }

    /// Returns whether the client's bytes may be read. If not, ``MessageCodec/resume()`` is called when they may.
    func wantsBody() -> Bool {
        readIsPending = bodyIsPaused
        return !bodyIsPaused
    }

    func resumeBody(of exchange: UInt64) {
        guard exchange == self.exchange, bodyIsPaused else { return }
        bodyIsPaused = false
        releaseRead()
    }

    private func releaseRead() {
        guard readIsPending else { return }
        readIsPending = false
        codec.resume()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        writabilityChanged(context.channel.isWritable)
        context.fireChannelWritabilityChanged()
    }

    func writabilityChanged(_ isWritable: Bool) {
        self.isWritable = isWritable
        if case .running(let sink) = state { sink.clientIsWritable(isWritable) }
    }

    // MARK: Responses

    /// - Returns: whether the client keeps up; if not, the sink is notified when it does.
    @discardableResult
    func write(_ part: ResponsePart, of exchange: UInt64) -> Bool {
        guard exchange == self.exchange, responseIsOpen else { return true }
        codec.write(part.dated)
        return isWritable
    }

    var sendsLines: Bool { codec.sendsLines }

    func writeHead(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool, of exchange: UInt64
    ) {
        guard exchange == self.exchange, responseIsOpen else { return }
        codec.writeHead(status, lines.dated, requestID: requestID, closes: closes)
    }

    func flush(_ exchange: UInt64) {
        guard exchange == self.exchange, responseIsOpen else { return }
        codec.flush()
    }

    func end(_ exchange: UInt64, trailers: HTTPFields? = nil) {
        guard exchange == self.exchange, responseIsOpen, isAttached else { return }
        responseIsOpen = false
        if case .running(let sink) = state { ended = sink }
        state = .answered
        bodyIsPaused = false
        codec.write(.end(trailers))
        flushes.add(self)
        releaseRead()
    }

    /// Flushes the response at the end of the turn.
    func flushChannel() { codec.flushEnded() }

    /// Called after the flush of a finished response: asks the sink for a callback if the client has not received all
    /// of it.
    func settle() {
        let sink = ended.take()
        guard isAttached, codec.responseWaits(), onSent == nil else { return }
        onSent = sink?.responseWaits()
    }

    /// Called when the client has received everything that was written.
    func responseHasLeft() { onSent.take()?() }

    func breakOff(_ exchange: UInt64) {
        guard exchange == self.exchange, responseIsOpen else { return }
        responseIsOpen = false
        state = .answered
        codec.breakOff()
    }

    // MARK: Ends

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is TunnelMustClose { mustClose() }
        context.fireUserInboundEventTriggered(event)
    }

    /// Tells the sink to close its WebSocket now.
    func mustClose() {
        if case .running(let sink) = state { sink.mustClose() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        disconnect()
        context.fireChannelInactive()
    }

    /// Called when the client has disconnected: ends the exchange.
    func disconnect() {
        let sink: (any ExchangeSink)? = if case .running(let sink) = state { sink } else { nil }
        state = .answered
        responseIsOpen = false
        ended = nil
        responseHasLeft()
        sink?.clientDisconnected()
    }

    /// The codec below has rejected the client's bytes. If no response has begun, an error response is sent.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let fault = error as? ListenerFault else {
            context.close(promise: nil)
            return
        }
        fail(fault)
    }

    /// Ends a request that failed: through its sink if it is running, otherwise with an error response.
    func fail(_ fault: ListenerFault) {
        if case .running(let sink) = state {
            sink.requestFailed(fault)
            if responseIsOpen { codec.breakOff() }
            return
        }
        state = .answered
        let (head, body) = service.refuse(fault, peer: peer)
        codec.write(ResponsePart.head(head).dated)
        codec.write(.body(body))
        codec.write(.end(nil))
        flushChannel()
    }
}
