internal import HTTPTypes
internal import Listener
internal import Telemetry

/// The spans of a request that is traced.
extension Exchange {
    /// The request's span, for tasks that work for it; nil if nothing is traced.
    var spanContext: SpanContext? {
        guard let trace = log.trace, let tracer = service.tracer else { return nil }
        return SpanContext(
            ids: trace.ids, isSampled: trace.isSampled,
            state: trace.beginsHere ? nil : request.head.headerFields[.tracestate], recorder: tracer.service.recorder)
    }
}
