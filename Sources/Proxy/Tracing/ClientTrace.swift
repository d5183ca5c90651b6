internal import HTTPTypes
internal import Pipeline

/// The trace context fields of a request.
struct ClientTrace: Equatable {
    /// The client's trace context if it sent exactly one and it is valid (Trace Context, §3.2); otherwise nil, and a
    /// new trace begins here.
    let context: TraceContext?
    /// Whether the request has a `tracestate`, which does not belong to a trace that begins here (§3.3).
    let hasState: Bool

    init(_ fields: HTTPFields) {
        var given: TraceContext?
        var (count, hasState) = (0, false)
        for field in fields {
            if field.name == .traceparent {
                count += 1
                given = TraceContext(parsing: field.value)
            } else if field.name == .tracestate {
                hasState = true
            }
        }
        context = count == 1 ? given : nil
        self.hasState = hasState
    }
}
