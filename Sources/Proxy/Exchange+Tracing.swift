internal import HTTPTypes
internal import Listener
internal import Telemetry

/// The span context of a traced request.
extension Exchange {
    /// The context of the request's span, for tasks that work for the request; nil if tracing is off.
    var spanContext: SpanContext? {
        guard let trace = log.trace, let tracer = service.tracer else { return nil }
        return SpanContext(
            ids: trace.ids, isSampled: trace.isSampled,
            state: trace.beginsHere ? nil : request.head.headerFields[.tracestate], recorder: tracer.service.recorder)
    }
}
