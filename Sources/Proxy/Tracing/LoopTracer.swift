internal import HTTPTypes
internal import NIOCore
internal import Pipeline
internal import Telemetry

/// The trace of a request while it is served.
struct ExchangeTrace {
    /// The ids of the request's own span.
    let ids: TraceIDs
    /// The id of the client's span; 0 if the trace begins here.
    let parentID: UInt64
    let isSampled: Bool
    /// The id of the span of the exchange with the backend.
    let upstreamSpan: UInt64
    /// The time of the token's verification; nil if the token was cached or there was none.
    var verification: (began: NIODeadline, ended: NIODeadline)?

    var beginsHere: Bool { parentID == 0 }

    /// The trace context for the backend.
    var context: TraceContext {
        TraceContext(
            traceID: ids.traceID, parentID: isSampled ? upstreamSpan : ids.spanID, isSampled: isSampled)
    }
}

/// Traces the requests of one event loop. Finished spans are passed to the exporter in batches.
final class LoopTracer {
    let service: TraceService
    private let eventLoop: any EventLoop
    private var random = FastRandom()
    private var waiting: [RequestSpans] = []
    private var isScheduled = false

    private static let batch = 64

    init(_ service: TraceService, eventLoop: any EventLoop) {
        self.service = service
        self.eventLoop = eventLoop
    }

    /// Begins the trace of a request. It continues the client's trace if there is one.
    func begin(_ head: HTTPRequest) -> ExchangeTrace {
        let (span, upstream) = (max(1, random.next()), max(1, random.next()))
        if let given = ClientTrace(head.headerFields).context {
            return ExchangeTrace(
                ids: TraceIDs(traceID: given.traceID, spanID: span), parentID: given.parentID,
                isSampled: service.recorder.sampler.samples(given, random: random.next()), upstreamSpan: upstream)
        }
        let traceID = max(1, UInt128(random.next()) << 64 | UInt128(random.next()))
        return ExchangeTrace(
            ids: TraceIDs(traceID: traceID, spanID: span), parentID: 0,
            isSampled: service.recorder.sampler.samples(traceID),
            upstreamSpan: upstream)
    }

    /// Records the spans of a sampled request that has ended.
    func end(_ spans: RequestSpans, _ trace: ExchangeTrace, _ log: borrowing ExchangeLog, receivedAt: NIODeadline) {
        func part(_ span: UInt64, _ start: NIODeadline, _ microseconds: Int64) -> RequestSpans.Part {
            RequestSpans.Part(
                spanID: span, start: max(0, (start - receivedAt).nanoseconds / 1000), duration: microseconds)
        }
        var spans = spans
        if let (began, ended) = trace.verification {
            spans.verification = part(max(1, random.next()), began, (ended - began).nanoseconds / 1000)
        }
        if let began = log.forwardedAt, let duration = log.backendMicroseconds {
            spans.upstream = part(trace.upstreamSpan, began, duration)
        }
        waiting.append(spans)
        if waiting.count >= Self.batch { handOver() } else { schedule() }
    }

    func handOver() {
        guard !waiting.isEmpty else { return }
        service.recorder.queue.add(&waiting)
    }

    private func schedule() {
        guard !isScheduled else { return }
        isScheduled = true
        let tracer = NIOLoopBound(self, eventLoop: eventLoop)
        eventLoop.scheduleTask(in: .milliseconds(500)) {
            tracer.value.isScheduled = false
            tracer.value.handOver()
        }
    }
}
