internal import Accounts
internal import Clocks
internal import HTTP1
internal import HTTPClient
internal import HTTPTypes
internal import Keys
internal import Listener
internal import NIOCore
internal import Pipeline
internal import ServiceContextModule
internal import Telemetry
internal import Upstream
internal import Zlib

/// One request from its head to the last byte of its response. It asks the gate for a decision, and executes what the
/// gate and the state decide.
///
/// It receives both the client's and the backend's data, so that no intermediate object handles the bytes.
final class Exchange {
    let service: LoopService
    let request: InboundRequest
    var log: ExchangeLog
    private var writer: ResponseWriter?
    var bodyWriter: ResponseBodyWriter?
    private(set) var stream: ResponseStream?
    /// The compressor of the backend's response; nil if the body passes unchanged.
    var compressor: GzipCompressor?
    let demand: BodyDemand
    var state: ExchangeState
    /// The collected call, the exchange with the backend and the WebSocket tunnel. The state says which is active.
    var call: CollectedCall?
    var upstream: UpstreamExchange?
    var tunnel: WebSocketTunnel?
    /// The request's context for the tasks that work for it.
    var called: CalledRequest?
    /// The body that has arrived before the decision.
    private var bufferedBody: ByteBuffer?
    /// Whether the connection must close after the response, because the client's next bytes may not be a request.
    var closesConnection = false

    init(_ inbound: consuming InboundRequest, _ writer: consuming ResponseWriter, service: LoopService) {
        self.service = service
        var request = inbound
        let origin = service.proxies(of: request)?.origin(peer: request.peer, request.head.headerFields)
        if let scheme = origin?.scheme { request.head.scheme = scheme }
        let now = WallClock.milliseconds()
        self.log = ExchangeLog(
            requestID: service.requestID(of: request.head, at: now), clientAddress: origin?.client ?? request.peer,
            startedAt: now)
        self.demand = writer.bodyDemand
        self.writer = consume writer
        self.state = ExchangeState(hasBody: request.body != .none)
        self.request = consume request
        log.trace = service.tracer?.begin(self.request.head)
        service.metrics.requestBegan()
    }

    // MARK: Deciding

    /// Asks the gate for a decision, and executes it.
    ///
    /// - Parameter attributes: the attributes of the token's user; nil if they were not looked up.
    func decide(keysWereLookedUp: Bool = false, attributes: UserAttributeAnswer? = nil) {
        let context = context(keysWereLookedUp: keysWereLookedUp, attributes: attributes)
        let (tokens, began) = (service.tokens, log.trace?.isSampled == true ? NIODeadline.now() : nil)
        let (hits, misses, shared) = (tokens.hitCount, tokens.missCount, tokens.sharedCount)
        let decision = service.plan.gate.decide(request.head, context, cache: tokens, keySets: service.keySets)
        if tokens.hitCount != hits { service.metrics.tokenCacheHit() }
        if tokens.missCount != misses {
            service.metrics.tokenCacheMiss(isShared: tokens.sharedCount != shared)
            if let began { log.trace?.verification = (began, .now()) }
        }
        switch consume decision {
        case .forward(let permit):
            if let wait = service.rateLimitWait(permit, client: log.clientAddress) {
                (log.routeIndex, log.subject) = (permit.routeIndex, permit.subject)
                return refuse(.rateLimited(after: wait))
            }
            if request.authorization == nil { forward(permit) } else { grant(permit) }
        case .endpoint(let number, let routeIndex, let token):
            log.routeIndex = routeIndex
            guard request.authorization == nil else { return refuse(ExternalAuthorization.notDecided) }
            switch service.plan.endpoints[number] {
            case .account(let operation, let group): collect(operation, group, token)
            case .session(let operation): collect(operation, token)
            case .keySet: answerKeySet()
            case .authorizationServer(let group): answerMetadata(ofGroup: group)
            }
        case .preflight(let fields, let routeIndex):
            log.routeIndex = routeIndex
            guard request.authorization == nil else { return refuse(ExternalAuthorization.notDecided) }
            answerPreflight(fields)
        case .refuse(let refusal, let routeIndex):
            log.routeIndex = routeIndex
            refuse(refusal)
        case .directCognito(let call):
            guard request.authorization == nil else { return refuse(ExternalAuthorization.directCognito) }
            take(call)
        case .needsKeys(let issuerIndex, let keyID):
            lookUpKeys(issuerIndex, keyID)
        case .needsAttributes(let question):
            lookUpAttributes(question)
        }
    }

    func context(keysWereLookedUp: Bool = false, attributes: UserAttributeAnswer? = nil) -> RequestContext {
        let trace = log.trace.map { ($0.context, $0.beginsHere) } ?? service.trace(of: request.head)
        return RequestContext(
            peer: log.clientAddress, scheme: request.head.scheme ?? "http", requestID: log.requestID, trace: trace.0,
            now: log.startedAt / 1000, keysWereLookedUp: keysWereLookedUp, hasBody: request.body != .none,
            assertionKey: service.assertionKeys?.signing, beginsTrace: trace.1, userAttributes: attributes)
    }

    /// Refuses the request without inspecting it: the gateway has reached its limit of requests in flight.
    func turnAway() {
        state.turnAway()
        refuse(.retryLater(.serviceUnavailable, after: 1, reason: .request(.overloaded)))
    }

    /// Refuses the request without inspecting it: the client's address has reached its limit of requests in flight.
    func turnAddressAway() {
        state.turnAway()
        refuse(.retryLater(.tooManyRequests, after: 1, reason: .request(.overloadedAddress)))
    }

    private func lookUpKeys(_ issuerIndex: Int, _ keyID: String) {
        let keys = service.plan.keyServices[issuerIndex]
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        Task { [spanContext] in
            // The result does not matter: the loop has the updated key sets by now, if there are any.
            _ = await ServiceContext.withValue(spanContext?.serviceContext) { await keys.lookUp(keyID) }
            eventLoop.execute { exchange.value.lookedUp() }
        }
    }

    private func lookUpAttributes(_ question: UserAttributeQuestion) {
        guard let attributes = service.plan.userAttributes else {
            return decide(keysWereLookedUp: true, attributes: .unavailable)
        }
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        Task { [spanContext] in
            let answer = await ServiceContext.withValue(spanContext?.serviceContext) {
                await attributes.answer(question)
            }
            eventLoop.execute { exchange.value.lookedUp(answer) }
        }
    }

    /// Decides again after keys or the attributes of the token's user were looked up.
    private func lookedUp(_ attributes: UserAttributeAnswer? = nil) {
        guard case .decide(let endIsBuffered) = state.lookedUp() else { return }
        decide(keysWereLookedUp: true, attributes: attributes)
        if let buffered = bufferedBody.take(), pass(buffered), !endIsBuffered { demand.resume() }
        if endIsBuffered { receiveEnd() }
    }

    func hold(_ body: ByteBuffer) {
        // Copied, so that the buffered part does not retain the whole read buffer.
        bufferedBody = bufferedBody ?? ByteBuffer()
        bufferedBody?.writeImmutableBuffer(body)
    }

    // MARK: The response

    /// Begins the backend's response with its header lines unchanged.
    func begin(_ status: HTTPResponse.Status, _ lines: EndToEndLines) {
        guard state.upstreamResponded(), let writer = writer.take() else { return }
        (log.status, log.upstreamStatus) = (status.code, status.code)
        began(writer.start(status, lines, requestID: log.requestID, closes: closesConnection))
    }

    /// Begins the backend's response with the header fields that the client may see.
    func begin(_ head: HTTPResponse) {
        guard state.upstreamResponded(), let writer = writer.take() else { return }
        (log.status, log.upstreamStatus) = (head.status.code, head.status.code)
        let isCompressible = treatment?.compresses == true && ResponseCompression.isCompressible(head)
        var head = head
        head.headerFields = ResponseFields.forClient(
            head.headerFields, requestID: log.requestID, rules: treatment?.responseHeaders)
        crossOrigin?.apply(to: &head.headerFields, for: request.head)
        if isCompressible, ResponseCompression.begin(&head, for: request.head, by: request.clientProtocol) {
            upstream?.receivesInTurn = 1
            if request.head.method != .head { compressor = GzipCompressor() }
        }
        if closesConnection { head.headerFields[.connection] = "close" }
        began(writer.start(head))
    }

    private func began(_ writer: consuming ResponseBodyWriter) {
        stream = writer.stream
        bodyWriter = consume writer
    }

    /// Whether ``begin(_:_:)``, with unchanged header lines, is cheaper than ``begin(_:)`` with a list of fields.
    var sendsLines: Bool { writer?.sendsLines == true }

    /// Sends a response of the gateway's own and records the request.
    func send(_ head: HTTPResponse, _ body: ByteBuffer) {
        var head = head
        for field in treatment?.responseHeaders.set ?? [] { head.headerFields[field.name] = field.value }
        sendUntreated(head, body)
    }

    /// Does the same as ``send(_:_:)``, without the response fields that the route sets.
    func sendUntreated(_ head: HTTPResponse, _ body: ByteBuffer) {
        guard state.answer(), let writer = writer.take() else { return }
        log.status = head.status.code
        var head = head
        if closesConnection { head.headerFields[.connection] = "close" }
        log.bytesSent = request.head.method == .head ? 0 : body.readableBytes
        record()
        writer.answer(head, body)
    }

    /// Aborts an incomplete response: the client must not take it for a complete one.
    func breakOff(_ reason: Reason) {
        log.reason = reason
        record()
        bodyWriter.take()?.breakOff()
    }

    /// Releases the buffered body and records a request whose client has disconnected.
    func abandon() {
        _ = writer.take()
        _ = bodyWriter.take()
        // The exchange outlives its client while it waits for a lookup, such as that of a key set.
        bufferedBody = nil
        log.reason = .request(.clientDisconnected)
        // nginx logs the same status. No response carries it.
        if log.status == 0 { log.status = 499 }
        record()
    }

    func record(at now: NIODeadline = .now()) {
        service.record(log, of: request, endedAt: now)
    }

    // MARK: The route

    var rule: RouteRule? {
        log.routeIndex.map { service.plan.gate.rules[$0] }
    }

    var treatment: RouteTreatment? {
        rule?.treatment
    }
}
