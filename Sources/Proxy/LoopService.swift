internal import Clocks
internal import Curl
internal import HTTPTypes
internal import Keys
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// Serves the requests of one event loop according to one plan. All state on the path of a request belongs to this loop
/// and needs no lock.
final class LoopService {
    let eventLoop: any EventLoop
    /// The executor for calls that run on the loop itself between suspensions.
    let taskExecutor: LoopTaskExecutor
    let plan: ServingPlan
    let pools: [UpstreamPool]
    /// For each upstream, the index of its first server in the metrics.
    private let firstServers: [Int]
    let tokens: TokenCache
    let metrics: LoopMetrics
    let watch: LoopWatch
    let recorder: AccessRecorder?
    /// Nil if tracing is off.
    let tracer: LoopTracer?
    private(set) var keySets: [KeySet?]
    /// Nil if backends receive no assertions.
    private(set) var assertionKeys: AssertionKeys?
    /// The key set that the gateway publishes, as JSON; nil if it has no keys.
    private(set) var ownKeySet: [UInt8]?
    private var random: FastRandom
    /// Nil if every request is logged.
    private var sampler: AccessSampler?

    /// - Parameter previous: the service that this one replaces. Pools and caches that are valid in both plans are
    ///   taken over from it. Nil for the first.
    /// - Precondition: on `curl`'s event loop.
    init(
        plan: ServingPlan, curl: CurlLoop, metrics: LoopMetrics, watch: LoopWatch, recorder: AccessRecorder?,
        tracer: LoopTracer? = nil, after previous: LoopService? = nil
    ) {
        self.eventLoop = curl.eventLoop
        self.taskExecutor = LoopTaskExecutor(curl.eventLoop)
        self.plan = plan
        self.metrics = metrics
        self.watch = watch
        self.firstServers = plan.upstreams.indices.map { plan.firstServer(of: $0) }
        let succession = PoolSuccession(from: previous?.upstreamNumbers ?? [], to: plan.upstreams.map(\.number))
        self.pools = plan.upstreams.indices.map { index in
            succession.taken[index].flatMap { previous?.pools[$0] } ?? Self.pool(index, plan, curl, metrics)
        }
        if let previous, previous.plan.tokenRules == plan.tokenRules {
            self.tokens = previous.tokens
        } else {
            self.tokens = TokenCache(signatures: plan.signatures)
        }
        if let list = plan.revocations?.current { tokens.revocations = list }
        self.keySets = plan.keyServices.map(\.currentSet)
        self.assertionKeys = plan.assertionKeys?.current
        self.ownKeySet = plan.ownKeySet
        self.recorder = recorder
        self.tracer = tracer
        self.random = FastRandom()
        self.sampler = plan.accessSampler
    }

    func refreshKeySets() {
        keySets = plan.keyServices.map(\.currentSet)
    }

    func refreshRevocations() {
        if let list = plan.revocations?.current { tokens.revocations = list }
    }

    func forgetTokens(of subject: String) { tokens.removeAll(of: subject) }

    func refreshAssertionKeys() {
        assertionKeys = plan.assertionKeys?.current
        ownKeySet = plan.ownKeySet
    }

    // MARK: Requests

    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        watch.workBegan()
        let hasRoom = plan.requestsInFlight.begin(limit: plan.requestLimit)
        var undecidable: Refusal?
        if let authorization = request.authorization {
            undecidable = replace(&request, byTheOriginalFor: authorization)
        }
        let exchange = Exchange(request, writer, service: self)
        if !hasRoom {
            exchange.turnAway()
        } else if !countsAddress(of: exchange) {
            exchange.turnAddressAway()
        } else if let response = exchange.request.challengeResponse {
            exchange.answerChallenge(response)
        } else if exchange.request.isMisdirected {
            exchange.refuse(.misdirected())
        } else if let port = exchange.request.httpsPort, !exchange.isSecure {
            exchange.redirectToHTTPS(port: port)
        } else if let undecidable {
            exchange.refuse(undecidable)
        } else {
            exchange.decide()
        }
        return exchange
    }

    /// Replaces an external authorization request by the original request that it describes.
    ///
    /// - Returns: the refusal if the original request cannot be determined; otherwise nil.
    private func replace(
        _ request: inout InboundRequest, byTheOriginalFor authorization: ExternalAuthorization
    ) -> Refusal? {
        do {
            request.head = try authorization.original(of: request.head, peer: request.peer)
            return nil
        } catch {
            return error
        }
    }

    /// The proxies that are trusted to report the client's address.
    func proxies(of request: InboundRequest) -> TrustedProxies? {
        request.authorization.map(\.proxies) ?? plan.trustedProxies
    }

    /// Counts the request for the client's address. Returns false, without counting it, if the address has reached its
    /// limit.
    private func countsAddress(of exchange: Exchange) -> Bool {
        var slots = exchange.request.peerCounters
        if let proxies = proxies(of: exchange.request) {
            slots = proxies.slots(ofClient: exchange.log.clientAddress, peer: exchange.request.peer, at: slots)
        }
        guard let slots else { return true }
        guard plan.requestsInFlight.byAddress.begin(slots, limit: plan.addressLimit) else { return false }
        exchange.log.addressSlots = slots
        return true
    }

    /// Counts a request against its route's rate limit.
    ///
    /// - Returns: nil if the request is within the limit; otherwise the seconds until there is room, rounded up.
    @inline(__always)
    func rateLimitWait(_ permit: borrowing Permit, client: String) -> Int? {
        guard let limiter = plan.rateLimiters?[permit.routeIndex] else { return nil }
        let wait = limiter.take(
            permit.request, client: client, subject: permit.subject, now: NIODeadline.now().uptimeNanoseconds)
        return wait.map { Int(($0 + 999_999_999) / 1_000_000_000) }
    }

    /// Keeps a request counted as in flight while its complete response waits for the client.
    ///
    /// - Returns: a closure that ends the counting. Call it exactly once.
    func holdPlace(of slots: AddressCounters?) -> () -> Void {
        let end = plan.requestsInFlight.hold(slots)
        metrics.responseWaits()
        return { [metrics] in
            end()
            metrics.responseHasLeft()
        }
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        let refusal = Refusal(fault)
        let now = WallClock.milliseconds()
        let requestID = makeRequestID(at: now)
        let (head, body) = refusal.answer(requestID: requestID)
        _ = plan.requestsInFlight.begin(limit: .max)
        metrics.requestBegan()
        var log = ExchangeLog(requestID: requestID, clientAddress: peer, startedAt: now)
        (log.status, log.bytesSent, log.reason) = (head.status.code, body.readableBytes, refusal.reason)
        count(log, isSafe: true, duration: 0)
        let record = AccessRecord(
            time: now, requestID: requestID, clientAddress: peer, method: "-", target: "-", status: log.status,
            bytesSent: Int64(log.bytesSent), duration: 0, denialReason: refusal.reason.code)
        plan.recent.add(record, at: now / 1000)
        recorder?.record(record)
        return (head, body)
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) {
        metrics.connectionRefused(refusal.rawValue)
        // Anyone can cause refusals by limits and TLS failures, so they are not logged. Errors of trusted proxies are.
        guard refusal != .limit, refusal != .addressLimit, refusal != .handshakeFailed else { return }
        let now = WallClock.milliseconds()
        recorder?.record(
            AccessRecord(
                time: now, requestID: makeRequestID(at: now), clientAddress: peer, method: "-", target: "-",
                // nginx logs the same status when it closes a connection without a response. No response carries it.
                status: 444, bytesSent: 0, duration: 0, denialReason: refusal.rawValue))
    }

    // MARK: For exchanges

    /// The client's request id if it is acceptable; otherwise a new one.
    func requestID(of head: HTTPRequest, at milliseconds: Int64) -> String {
        RequestID.accepted(from: head.headerFields) ?? makeRequestID(at: milliseconds)
    }

    private func makeRequestID(at milliseconds: Int64) -> String {
        RequestID.make(
            milliseconds: UInt64(clamping: milliseconds), random: (high: random.next(), low: random.next()))
    }

    /// The client's trace context if it is valid; otherwise a new one. A `tracestate` that came with the request does
    /// not belong to a new trace (`orphansState`).
    func trace(of head: HTTPRequest) -> (context: TraceContext, orphansState: Bool) {
        let given = ClientTrace(head.headerFields)
        if let context = given.context { return (context, false) }
        return (TraceContext(random: (random.next(), random.next(), random.next())), given.hasState)
    }

    /// Counts and logs a request that has ended.
    func record(_ log: borrowing ExchangeLog, of request: InboundRequest, endedAt now: NIODeadline) {
        count(log, isSafe: request.head.method.isSafe, duration: log.duration(of: request, endedAt: now))
        let isTraced = log.trace?.isSampled == true
        let isError = log.reason != nil || log.status >= 500
        guard recorder != nil || isTraced || isError else { return }
        let route = log.routeIndex.map { plan.gate.rules[$0].name }
        let record = log.record(of: request, route: route, server: server(of: log)?.name, endedAt: now)
        if isError { plan.recent.add(record, error: log.errorText, at: WallClock.seconds()) }
        if isTraced, let trace = log.trace { end(trace, record, log, of: request) }
        guard let recorder else { return }
        if sampler?.leavesOut(route: log.routeIndex, target: request.head.path, status: log.status) == true { return }
        recorder.record(record)
    }

    /// The last server that received the request.
    private func server(of log: borrowing ExchangeLog) -> UpstreamServer? {
        guard let upstream = log.upstreamIndex, let number = log.serverNumber else { return nil }
        return plan.upstreams[upstream].settings.servers[number]
    }

    /// The metrics index of the last server that received the request, and the backend's time in microseconds.
    private func serverPart(of log: borrowing ExchangeLog) -> (number: Int, duration: Int64)? {
        guard let upstream = log.upstreamIndex, let number = log.serverNumber,
            let duration = log.backendMicroseconds
        else { return nil }
        return (firstServers[upstream] + number, duration)
    }

    private func end(
        _ trace: ExchangeTrace, _ record: AccessRecord, _ log: borrowing ExchangeLog, of request: InboundRequest
    ) {
        var spans = RequestSpans(record: record, ids: trace.ids, parentID: trace.parentID)
        spans.scheme = request.head.scheme
        spans.pattern = log.routeIndex.map { plan.gate.routes.routes[$0].pattern.text }
        spans.upstreamName = log.upstreamIndex.map { plan.upstreams[$0].settings.name }
        if let server = server(of: log) { (spans.serverURL, spans.serverSocket) = (server.url, server.unixSocket) }
        tracer?.end(spans, trace, log, receivedAt: request.receivedAt)
    }

    private func count(_ log: borrowing ExchangeLog, isSafe: Bool, duration: Int64) {
        plan.requestsInFlight.end(log.addressSlots)
        metrics.requestEnded(
            route: log.routeIndex, isSafe: isSafe, status: log.status, duration: duration,
            upstreamDuration: log.upstreamMicroseconds, server: serverPart(of: log))
        metrics.sent(bytes: log.bytesSent)
        if let reason = log.reason { metrics.denied(reason) }
    }
}

extension RequestID {
    /// The first acceptable request id among the client's fields; nil if there is none.
    static func accepted(from fields: HTTPFields) -> String? {
        for field in fields where field.name == .requestID {
            if let accepted = accepted(field.value) { return accepted }
        }
        return nil
    }
}

extension HTTPRequest.Method {
    /// RFC 9110 §9.2.1.
    fileprivate var isSafe: Bool { self == .get || self == .head || self == .options || self == .trace }
}
