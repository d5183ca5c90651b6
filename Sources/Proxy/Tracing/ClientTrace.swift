internal import HTTPTypes
internal import Pipeline

/// The trace that a request came with.
struct ClientTrace: Equatable {
    /// The client's trace context where it has a valid one, and only one (Trace Context, §3.2); else a trace begins
    /// here.
    let context: TraceContext?
    /// Whether it has a `tracestate`, which does not belong to a trace that begins here (§3.3).
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
