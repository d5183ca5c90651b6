package import Curl
internal import HTTPTypes
internal import Listener
internal import NIOCore
package import Telemetry

/// The request service of one event loop's connections. It passes each request to the ``LoopService`` that is current
/// when the request begins. A reload replaces the current one.
package final class LoopGateway: RequestService {
    private let curl: CurlLoop
    private let watch: LoopWatch
    private(set) var current: LoopService
    /// Replaced services that may still have requests in flight.
    private var earlier: [Earlier] = []
    private var recorder: AccessRecorder?
    private var tracer: LoopTracer?

    private struct Earlier { weak var service: LoopService? }

    /// - Precondition: on `curl`'s event loop.
    package init(_ plan: ServingPlan, curl: CurlLoop, metrics: LoopMetrics) {
        self.curl = curl
        watch = LoopWatch(curl.eventLoop, metrics: metrics)
        recorder = plan.accessLog?.makeRecorder()
        tracer = plan.tracing.map { LoopTracer($0, eventLoop: curl.eventLoop) }
        current = LoopService(
            plan: plan, curl: curl, metrics: metrics, watch: watch, recorder: recorder, tracer: tracer)
    }

    /// Installs `plan` for new requests. Requests in flight finish with the plan with which they began.
    func install(_ plan: ServingPlan, metrics: LoopMetrics) {
        let previous = current
        // Kept while the log is off: the log never releases its recorders.
        if recorder == nil { recorder = plan.accessLog?.makeRecorder() }
        if tracer?.service !== plan.tracing {
            tracer?.handOver()
            tracer = plan.tracing.map { LoopTracer($0, eventLoop: curl.eventLoop) }
        }
        current = LoopService(
            plan: plan, curl: curl, metrics: metrics, watch: watch,
            recorder: plan.accessLog == nil ? nil : recorder, tracer: tracer, after: previous)
        previous.letGo(inFavourOf: current)
        earlier.removeAll { $0.service == nil }
        earlier.append(Earlier(service: previous))
    }

    func refreshKeySets() {
        current.refreshKeySets()
        for each in earlier { each.service?.refreshKeySets() }
    }

    func refreshDrainedServers() {
        current.refreshDrainedServers()
        for each in earlier { each.service?.refreshDrainedServers() }
    }

    func refreshRevocations() {
        current.refreshRevocations()
        for each in earlier { each.service?.refreshRevocations() }
    }

    func forgetTokens(of subject: String) {
        current.forgetTokens(of: subject)
        for each in earlier { each.service?.forgetTokens(of: subject) }
    }

    func refreshAssertionKeys() {
        current.refreshAssertionKeys()
        for each in earlier { each.service?.refreshAssertionKeys() }
    }

    /// Passes the finished spans to the exporter.
    func handOverSpans() { tracer?.handOver() }

    func close() {
        watch.close()
        current.close()
        curl.close()
    }

    // MARK: RequestService

    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        current.begin(request, writer)
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        current.refuse(fault, peer: peer)
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) {
        current.refuseConnection(refusal, peer: peer)
    }

    func connectionFailed(_ error: HTTP2ConnectionError) { current.metrics.connectionFailed(error.name) }
    func connectionEvicted() { current.metrics.connectionEvicted() }
    func connectionOpened() {
        watch.workBegan()
        current.metrics.connectionOpened()
    }
    func connectionClosed() { current.metrics.connectionClosed() }
    func streamOpened() { current.metrics.streamOpened() }
    func streamClosed() { current.metrics.streamClosed() }
}
