internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry

/// The spans of a request that is traced.
extension Exchange {
    /// Notes when a token was verified that was not known.
    func decideTraced(_ context: RequestContext) -> Decision {
        let (misses, began) = (service.tokens.missCount, NIODeadline.now())
        let decision = service.decide(request.head, context)
        if service.tokens.missCount != misses { log.trace?.verification = (began, .now()) }
        return decision
    }

    /// The request's span, for tasks that work for it; nil if nothing is traced.
    var spanContext: SpanContext? {
        guard let trace = log.trace, let tracer = service.tracer else { return nil }
        return SpanContext(
            ids: trace.ids, isSampled: trace.isSampled,
            state: trace.beginsHere ? nil : request.head.headerFields[.tracestate], recorder: tracer.service.recorder)
    }
}
