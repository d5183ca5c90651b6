internal import Curl
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import SignIn
internal import Telemetry
internal import Upstream

/// Serves the connections of one event loop. Everything a request touches on its way is here and needs no lock.
final class LoopService: RequestService {
    let eventLoop: any EventLoop
    let plan: ServingPlan
    let pools: [UpstreamPool]
    let tokens: TokenCache
    let metrics: LoopMetrics
    let recorder: AccessRecorder?
    private let curl: CurlLoop
    private(set) var keySets: [KeySet?]
    private var random: FastRandom

    /// - Precondition: on `curl`'s event loop.
    init(plan: ServingPlan, curl: CurlLoop, metrics: LoopMetrics) {
        self.eventLoop = curl.eventLoop
        self.plan = plan
        self.curl = curl
        self.metrics = metrics
        self.pools = plan.upstreams.map { UpstreamPool(settings: $0, loop: curl) }
        self.tokens = TokenCache()
        self.keySets = Array(repeating: nil, count: plan.keyServices.count)
        self.recorder = plan.accessLog?.makeRecorder()
        self.random = FastRandom()
    }

    func use(_ keySet: KeySet?, ofIssuer index: Int) {
        keySets[index] = keySet
    }

    func close() {
        for pool in pools { pool.close() }
        curl.close()
    }

    // MARK: RequestService

    func begin(_ request: InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        let exchange = Exchange(request, writer, service: self)
        exchange.decide()
        return exchange
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        let refusal = Refusal(fault)
        let requestID = makeRequestID(at: WallClock.milliseconds())
        let (head, body) = refusal.answer(requestID: requestID)
        record(
            AccessRecord(
                time: WallClock.milliseconds(), requestID: requestID, method: "-", path: "-",
                status: head.status.code, bytesSent: body.readableBytes, duration: 0, denialReason: refusal.reason,
                clientAddress: peer), routeIndex: nil)
        return (head, body)
    }

    func connectionOpened() { metrics.connectionOpened() }
    func connectionClosed() { metrics.connectionClosed() }

    // MARK: For exchanges

    /// The client's own id where it is usable, else a new one.
    func requestID(of head: HTTPRequest, at milliseconds: Int64) -> String {
        for field in head.headerFields where field.name == .requestID {
            if let accepted = RequestID.accepted(field.value) { return accepted }
        }
        return makeRequestID(at: milliseconds)
    }

    private func makeRequestID(at milliseconds: Int64) -> String {
        RequestID.make(
            milliseconds: UInt64(clamping: milliseconds), random: (high: random.next(), low: random.next()))
    }

    /// The client's trace where it has one, else the beginning of a new one.
    func trace(of head: HTTPRequest) -> TraceContext {
        for field in head.headerFields where field.name == .traceparent {
            if let context = TraceContext(parsing: field.value) { return context }
        }
        return TraceContext(random: (random.next(), random.next(), random.next()))
    }

    func record(_ record: AccessRecord, routeIndex: Int?) {
        metrics.record(record, routeIndex: routeIndex)
        recorder?.record(record)
    }
}
