internal import Clocks
internal import Cryptography
internal import HTTP1
internal import HTTPTypes
internal import Keys
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// One request from its head to the last byte of its response: asks the gate, and does what it decided.
///
/// It is the sink of the client's bytes and of the backend's alike, so that nothing is passed through a third.
final class Exchange: ExchangeSink, UpstreamResponseReceiver {
    enum State {
        /// A key is being looked for. The client's bytes wait.
        case awaitingKeys
        case collecting(EndpointCall)
        case collectingDirect(DirectCall)
        case forwarding(UpstreamExchange)
        case tunnel(WebSocketTunnel)
        case done
    }

    /// The most bytes of a request body for the gateway's own endpoints.
    static let endpointBodyLimit = 64 << 10

    let service: LoopService
    let request: InboundRequest
    var log: ExchangeLog
    private var writer: ResponseWriter?
    var bodyWriter: ResponseBodyWriter?
    private(set) var stream: ResponseStream?
    let demand: BodyDemand
    var state = State.awaitingKeys
    private var heldBody: ByteBuffer?
    /// How many bytes of body may still go to the backend.
    private var bodyLimit = Int.max
    private var bodyHasEnded: Bool
    /// The client's next bytes may be no request.
    var closesConnection = false
    /// There was no room for it, so that it takes none.
    private var wasTurnedAway = false

    init(_ inbound: InboundRequest, _ writer: consuming ResponseWriter, service: LoopService) {
        self.service = service
        var request = inbound
        let origin = service.plan.trustedProxies?.origin(peer: request.peer, request.head.headerFields)
        if let scheme = origin?.scheme { request.head.scheme = scheme }
        self.request = request
        let now = WallClock.milliseconds()
        self.log = ExchangeLog(
            requestID: service.requestID(of: request.head, at: now), clientAddress: origin?.client ?? request.peer,
            startedAt: now)
        self.demand = writer.bodyDemand
        self.writer = consume writer
        self.bodyHasEnded = request.body == .none
        service.metrics.requestBegan()
    }

    // MARK: Deciding

    func decide(keysWereLookedUp: Bool = false) {
        if let tracer = service.tracer, log.trace == nil { log.trace = tracer.begin(request.head) }
        let context = context(keysWereLookedUp: keysWereLookedUp)
        let decision = log.trace?.isSampled == true ? decideTraced(context) : service.decide(request.head, context)
        switch consume decision {
        case .forward(let permit):
            forward(permit)
        case .endpoint(let number, let routeIndex, let token):
            log.routeIndex = routeIndex
            switch service.plan.endpoints[number] {
            case .account(let operation, let group): collect(operation, group, token)
            case .session(let operation): collect(operation, token)
            case .keySet: answerKeySet()
            }
        case .preflight(let fields, let routeIndex):
            log.routeIndex = routeIndex
            answerPreflight(fields)
        case .refuse(let refusal, let routeIndex):
            log.routeIndex = routeIndex
            refuse(refusal)
        case .directCognito(let call):
            takeDirect(call)
        case .needsKeys(let issuerIndex, let keyID):
            lookUpKeys(issuerIndex, keyID)
        }
    }

    func context(keysWereLookedUp: Bool = false) -> RequestContext {
        let trace = log.trace.map { ($0.context, $0.beginsHere) } ?? service.trace(of: request.head)
        return RequestContext(
            peer: log.clientAddress, scheme: request.head.scheme ?? "http", requestID: log.requestID, trace: trace.0,
            now: log.startedAt / 1000, keysWereLookedUp: keysWereLookedUp, hasBody: request.body != .none,
            assertionKey: service.assertionKeys?.signing, beginsTrace: trace.1)
    }

    /// The gateway has as many requests as it takes at once. Whatever is asked for is not looked at.
    func turnAway() {
        wasTurnedAway = true
        refuse(.retryLater(.serviceUnavailable, after: 1, reason: .request(.overloaded)))
    }

    /// The client's address has as many requests in flight as it may.
    func turnAddressAway() {
        wasTurnedAway = true
        refuse(.retryLater(.tooManyRequests, after: 1, reason: .request(.overloadedAddress)))
    }

    /// Where the client is counted: the connection's peer, or who a trusted proxy says that it is. Nil for who is not known,
    /// and for a proxy that does not say, be it the peer or one behind it: many clients may come by that.
    var slotsOfClient: AddressSlots? {
        guard let proxies = service.plan.trustedProxies, !log.clientAddress.utf8.elementsEqual(request.peer.utf8) else {
            return request.peerSlots
        }
        return IPAddress(log.clientAddress).flatMap { proxies.isTrusted($0) ? nil : AddressSlots(of: $0) }
    }

    /// Of IPv6 the /64 counts, which one customer has as a whole (RFC 6177).
    var clientHash: UInt64 {
        guard let address = IPAddress(log.clientAddress) else { return 0 }
        return UInt64(bitPattern: Int64(address.ofCustomer.hashValue))
    }

    private func lookUpKeys(_ issuerIndex: Int, _ keyID: String) {
        let keys = service.plan.keyServices[issuerIndex]
        let exchange = NIOLoopBound(self, eventLoop: service.eventLoop)
        let eventLoop = service.eventLoop
        Task { [spanScope] in
            // Whatever came of it, the loop has the sets by now, or has none.
            _ = await SpanScope.within(spanScope) { await keys.lookUp(keyID) }
            eventLoop.execute { exchange.value.keysWereLookedUp() }
        }
    }

    private func keysWereLookedUp() {
        guard case .awaitingKeys = state else { return }
        decide(keysWereLookedUp: true)
        guard let held = heldBody else {
            if bodyHasEnded, request.body != .none { passEnd() }
            return
        }
        heldBody = nil
        let wantsMore = pass(held)
        if bodyHasEnded { passEnd() } else if wantsMore { demand.resume() }
    }

    // MARK: Forwarding

    /// - Parameter collected: the whole body, where it is here already.
    func forward(_ permit: consuming Permit, collected: ByteBuffer? = nil) {
        log.routeIndex = permit.routeIndex
        log.subject = permit.subject
        guard let index = service.plan.upstreamOfRoute[permit.routeIndex] else {
            return refuse(Refusal(.internalFailure, reason: .request(.routeWithoutUpstream)))
        }
        log.upstreamIndex = index
        if let grant = permit.webSocket { return openWebSocket(permit, grant, upstream: index) }
        bodyLimit = treatment?.bodyLimit ?? .max
        if case .length(let length) = request.body, length > bodyLimit { return refuseLargeBody() }
        let framing = collected.map { .length($0.readableBytes) } ?? framing
        let pool = service.pools[index]
        let forwarded = ForwardedRequest(
            permit, framing: framing, upstream: service.plan.upstreams[index].settings, buffer: pool.takeBuffer())
        log.forwarding()
        let upstream = pool.send(
            forwarded, subject: log.subject, timeouts: service.plan.timeoutsOfRoute[permit.routeIndex],
            copiesLines: rule?.changesResponses == false && writer?.sendsLines == true, to: self)
        log.forwarded(as: upstream)
        state = .forwarding(upstream)
        guard let collected else { return }
        _ = upstream.send(body: collected)
        upstream.finishBody()
    }

    /// As the client has it.
    private var framing: BodyFraming {
        switch request.body {
        case .none: .none
        case .length(let length): .length(length)
        case .unknownLength: .chunked
        }
    }

    var rule: RouteRule? {
        log.routeIndex.map { service.plan.gate.rules[$0] }
    }

    private var treatment: RouteTreatment? {
        rule?.treatment
    }

    func upstreamResponded(_ head: ResponseHead) {
        switch head.fields {
        case .lines(let lines): passOn(head.status, lines)
        case .list(let fields): passOn(HTTPResponse(status: head.status, headerFields: fields))
        }
    }

    private func passOn(_ status: HTTPResponse.Status, _ lines: EndToEndLines) {
        log.status = status.code
        guard let writer = writer.take() else { return }
        began(writer.start(status, lines, requestID: log.requestID, closes: closesConnection))
    }

    func passOn(_ head: HTTPResponse) {
        log.status = head.status.code
        guard let writer = writer.take() else { return }
        var head = head
        head.headerFields = ResponseFields.forClient(
            head.headerFields, requestID: log.requestID, rules: treatment?.responseHeaders)
        crossOrigin?.apply(to: &head.headerFields, for: request.head)
        if closesConnection { head.headerFields[.connection] = "close" }
        began(writer.start(head))
    }

    private func began(_ writer: consuming ResponseBodyWriter) {
        stream = writer.stream
        bodyWriter = consume writer
    }

    func upstreamSent(_ body: ByteBuffer) {
        log.bytesSent += body.readableBytes
        // The connection may be behind already with the response before this one.
        if stream?.write(body) == false, case .forwarding(let upstream) = state { upstream.pause() }
    }

    func upstreamPaused() {
        stream?.flush()
    }

    func upstreamFinished(trailers: HTTPFields?) {
        let now = NIODeadline.now()
        log.upstreamEnded(at: now)
        state = .done
        record(at: now)
        bodyWriter.take()?.end(trailers: trailers.flatMap { rule?.trailersForClient($0) })
    }

    func upstreamFailed(_ fault: UpstreamFault) {
        log.upstreamEnded()
        if let upstreamIndex = log.upstreamIndex { service.metrics.upstreamFailed(upstreamIndex) }
        guard let bodyWriter = bodyWriter.take() else { return refuse(Refusal(fault)) }
        log.reason = .upstream(fault.reason)
        state = .done
        record()
        // The client must not take what it has for the whole.
        bodyWriter.breakOff()
    }

    func upstreamWantsBody() {
        demand.resume()
    }

    /// Sends an answer of the gateway's own, and writes it down.
    func send(_ head: HTTPResponse, _ body: ByteBuffer) {
        state = .done
        log.status = head.status.code
        guard let writer = writer.take() else { return }
        var head = head
        for field in treatment?.responseHeaders.set ?? [] { head.headerFields[field.name] = field.value }
        if closesConnection { head.headerFields[.connection] = "close" }
        log.bytesSent = request.head.method == .head ? 0 : body.readableBytes
        record()
        writer.answer(head, body)
    }

    // MARK: ExchangeSink

    func receive(_ body: ByteBuffer) -> Bool {
        service.metrics.received(bytes: body.readableBytes)
        return pass(body)
    }

    private func pass(_ body: ByteBuffer) -> Bool {
        switch state {
        case .awaitingKeys:
            hold(body)
            return false
        case .collecting(let call):
            call.body.append(contentsOf: body.readableBytesView)
            if call.body.count > Self.endpointBodyLimit { refuseLargeBody() }
            return true
        case .collectingDirect(let call):
            return collect(body, of: call)
        case .forwarding(let upstream):
            bodyLimit -= body.readableBytes
            guard bodyLimit >= 0 else {
                stop(upstream)
                return true
            }
            return upstream.send(body: body)
        case .tunnel(let tunnel):
            return tunnel.receive(body)
        case .done:
            return true
        }
    }

    /// A body of unknown length has become too long.
    private func stop(_ upstream: UpstreamExchange) {
        upstream.cancel()
        log.upstreamEnded()
        guard let bodyWriter = bodyWriter.take() else { return refuseLargeBody() }
        log.reason = .request(.bodyTooLarge)
        state = .done
        record()
        bodyWriter.breakOff()
    }

    private func hold(_ body: ByteBuffer) {
        if heldBody == nil {
            heldBody = body
        } else {
            heldBody?.writeImmutableBuffer(body)
        }
    }

    func receiveEnd() {
        if case .tunnel(let tunnel) = state { return tunnel.receiveEnd() }
        guard !bodyHasEnded else { return }
        bodyHasEnded = true
        if case .awaitingKeys = state { return }
        passEnd()
    }

    private func passEnd() {
        switch state {
        case .collecting(let call): perform(call)
        case .collectingDirect(let call): perform(call)
        case .forwarding(let upstream): upstream.finishBody()
        case .tunnel(let tunnel): tunnel.receiveEnd()
        case .awaitingKeys, .done: break
        }
    }

    func mustClose() {
        if case .tunnel(let tunnel) = state { tunnel.mustClose() }
    }

    func clientIsWritable(_ isWritable: Bool) {
        if case .tunnel(let tunnel) = state { return tunnel.clientIsWritable(isWritable) }
        guard case .forwarding(let upstream) = state else { return }
        if isWritable { upstream.resume() } else { upstream.pause() }
    }

    func requestFailed(_ fault: ListenerFault) {
        if case .forwarding(let upstream) = state { upstream.cancel() }
        if case .tunnel(let tunnel) = state { tunnel.clientDisconnected() }
        log.upstreamEnded()
        refuse(Refusal(fault))
    }

    func responseWaits() -> (() -> Void)? {
        guard !wasTurnedAway else { return nil }
        return service.holdPlace(of: log.addressSlots)
    }

    func clientDisconnected() {
        let ended = state
        guard writer != nil || bodyWriter != nil else { return }
        state = .done
        if case .forwarding(let upstream) = ended { upstream.cancel() }
        if case .tunnel(let tunnel) = ended {
            tunnel.clientDisconnected()
            if bodyWriter != nil { service.metrics.webSocketClosed() }
        }
        log.upstreamEnded()
        _ = writer.take()
        _ = bodyWriter.take()
        log.reason = .request(.clientDisconnected)
        // The status that nginx logs for it; no response carries it.
        if log.status == 0 { log.status = 499 }
        record()
    }

    func record(at now: NIODeadline = .now()) {
        service.record(log, of: request, endedAt: now)
    }
}
