internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

/// Passes requests to the service and responses back, for HTTP/1.1 connections and HTTP/2 streams alike: it
/// speaks swift-http-types on both sides. A connection has it as the handler behind its codec. A stream, which has no
/// channel of its own, calls it.
final class ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = Never
    typealias OutboundIn = Never

    private enum State {
        case idle
        /// The head waits for what follows, which says whether there is a body.
        case head(HTTPRequest)
        case running(any ExchangeSink)
        /// The service has answered; the rest of the request is of no interest.
        case answered
    }

    private let service: any RequestService
    private let codec: any MessageCodec
    private let flushes: EndOfTurnFlushes
    private let peer: String
    private let peerSlots: AddressSlots?
    private let serverNames: HostNames?
    private let httpsPort: Int?
    private let transport: ClientProtocol
    private let authorization: ExternalAuthorization?
    private let challenges: PendingChallenges?
    /// Whether the connection or stream is still there.
    private var isAttached = false
    private var state = State.idle
    private var exchange: UInt64 = 0
    private var responseIsOpen = false
    /// The channel's last writability; cheaper than asking it at each write.
    private var isWritable = true
    private var bodyIsPaused = false
    private var readIsPending = false
    /// The sink of the response that has ended and is to be flushed.
    private var ended: (any ExchangeSink)?
    /// To be called when the client has taken what waits for it of responses that have ended; nil where nothing does.
    private var onSent: (() -> Void)?

    /// - Parameters:
    ///   - codec: the handler below this one.
    ///   - flushes: those of the event loop.
    ///   - peer: the client's address.
    ///   - peerSlots: where it is counted.
    ///   - serverNames: the hosts that requests may name; nil: any.
    ///   - httpsPort: the port that requests are redirected to, for https; nil: they are served.
    ///   - authorization: the proxies whose questions the requests are; nil: they are served.
    ///   - challenges: are answered before anything else; nil: none is.
    ///   - transport: of the connection; its version of HTTP is the codec's.
    init(
        _ service: any RequestService, codec: any MessageCodec, flushes: EndOfTurnFlushes, peer: String,
        peerSlots: AddressSlots? = nil, serverNames: HostNames? = nil, httpsPort: Int? = nil,
        authorization: ExternalAuthorization? = nil, challenges: PendingChallenges? = nil,
        transport: ClientProtocol = ClientProtocol()
    ) {
        self.service = service
        self.codec = codec
        self.flushes = flushes
        self.peer = peer
        self.peerSlots = peerSlots
        self.serverNames = serverNames
        self.httpsPort = httpsPort
        self.transport = transport
        self.authorization = authorization
        self.challenges = challenges
        codec.exchanges = self
    }

    func handlerAdded(context: ChannelHandlerContext) {
        attach(isWritable: context.channel.isWritable)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        detach()
    }

    /// The connection or stream begins.
    func attach(isWritable: Bool) {
        isAttached = true
        self.isWritable = isWritable
    }

    /// The connection or stream has gone.
    func detach() {
        disconnect()
        isAttached = false
    }

    // MARK: Requests

    /// Takes a part of a request.
    func receive(_ part: RequestPart) {
        switch part {
        case .head(let head):
            state = .head(head)
        case .body(let body):
            if case .head(let head) = state { begin(head, hasBody: true) }
            guard case .running(let sink) = state else { return }
            // A later part of the same read may find room again.
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

    /// All parts that came together have been received.
    func readComplete() {
        if case .head(let head) = state { begin(head, hasBody: true) }
    }

    private func begin(_ head: HTTPRequest, hasBody: Bool) {
        exchange &+= 1
        responseIsOpen = true
        bodyIsPaused = false
        let length = hasBody ? head.headerFields[.contentLength].flatMap(Int.init) : nil
        var request = InboundRequest(
            head: head, body: !hasBody ? .none : length.map { .length($0) } ?? .unknownLength, peer: peer,
            peerSlots: peerSlots, receivedAt: .now(), httpsPort: httpsPort, authorization: authorization,
            spoken: transport)
        request.spoken.http = codec.httpVersion
        if let serverNames, let authority = head.authority { request.isMisdirected = !serverNames.contains(authority) }
        if let challenges { request.challengeResponse = challenges.response(to: head) }
        let sink = service.begin(request, ResponseWriter(self, exchange: exchange))
        // The answer may have been given already.
        if !responseIsOpen { ended = sink }
        if case .head = state { state = responseIsOpen ? .running(sink) : .answered }
    }

    // MARK: Backpressure

    func read(context: ChannelHandlerContext) {
        if wantsBody() { context.read() }
    }

    /// Whether the service wants no more of the body for now.
    var isPaused: Bool { bodyIsPaused }

    /// Whether the client's bytes are to be read. If not, ``MessageCodec/resume()`` is called when they are.
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

    /// - Returns: whether the client keeps up with what has been written; if not, the sink hears when it does.
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

    /// Sends what was left for the end of the turn.
    func flushChannel() { codec.flushEnded() }

    /// The rest has been sent, as far as the client takes it.
    func settle() {
        let sink = ended.take()
        guard isAttached, codec.responseWaits(), onSent == nil else { return }
        onSent = sink?.responseWaits()
    }

    /// The client has taken all that was written.
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

    /// A WebSocket is to be closed now.
    func mustClose() {
        if case .running(let sink) = state { sink.mustClose() }
    }

    func channelInactive(context: ChannelHandlerContext) {
        disconnect()
        context.fireChannelInactive()
    }

    /// Nobody is there any more to send anything to.
    func disconnect() {
        let sink: (any ExchangeSink)? = if case .running(let sink) = state { sink } else { nil }
        state = .answered
        responseIsOpen = false
        ended = nil
        responseHasLeft()
        sink?.clientDisconnected()
    }

    /// The codec below gave up on the client's bytes. A response that has not begun says why.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let fault = error as? ListenerFault else {
            context.close(promise: nil)
            return
        }
        fail(fault)
    }

    /// Answers for a request that cannot go on.
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
