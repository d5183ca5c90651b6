internal import Encoding
internal import Pipeline
package import Tracing

/// Creates the spans of libraries that use swift-distributed-tracing. They are exported with the gateway's own spans,
/// as children of the task's span.
package struct GatewayTracer: Tracer {
    private let tracing: CurrentTracing

    /// - Parameter tracing: the recorder for traces that begin in a library.
    package init(_ tracing: CurrentTracing) {
        self.tracing = tracing
    }

    /// Starts a child of the span in `context`. If there is none, a new trace begins, and the sampler decides about it.
    /// If the trace is not sampled, the span records nothing.
    package func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext, ofKind kind: SpanKind,
        at instant: @autoclosure () -> Instant, function: String, file fileID: String, line: UInt
    ) -> GatewaySpan {
        var context = context()
        let parent = context.span
        if let parent, !parent.isSampled { return GatewaySpan(context) }
        guard let own = parent?.child() ?? tracing.recorder.map(SpanContext.init(beginningTraceIn:)) else {
            return GatewaySpan(context)
        }
        context.span = own
        guard own.isSampled else { return GatewaySpan(context) }
        let span = Telemetry.Span(
            ids: own.ids, parentID: parent?.ids.spanID ?? 0, name: operationName, kind: Telemetry.Span.Kind(kind),
            start: instant().nanoseconds)
        return GatewaySpan(context, SpanRecording(span, to: own.recorder.queue))
    }

    /// Does nothing, because finished spans are sent every second.
    package func forceFlush() {}

    // MARK: Trace Context

    /// Continues the trace of the sender's `traceparent`. An invalid one is ignored (Trace Context, §3.2), together
    /// with its `tracestate` (§3.3).
    package func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let recorder = tracing.recorder,
            let given = extractor.extract(key: "traceparent", from: carrier).flatMap(TraceContext.init(parsing:))
        else { return }
        context.span = SpanContext(
            ids: TraceIDs(traceID: given.traceID, spanID: given.parentID),
            isSampled: recorder.sampler.samples(given, random: SpanContext.newID()),
            state: extractor.extract(key: "tracestate", from: carrier), recorder: recorder)
    }

    /// Injects the context's trace into the carrier, so that the receiver can continue it. Does nothing without a
    /// trace.
    package func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        guard let span = context.span else { return }
        let parent = TraceContext(
            traceID: span.ids.traceID, parentID: span.ids.spanID, isSampled: span.isSampled)
        injector.inject(parent.text, forKey: "traceparent", into: &carrier)
        if let state = span.state { injector.inject(state, forKey: "tracestate", into: &carrier) }
    }
}

extension TraceContext {
    fileprivate var text: String {
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: 55) { append(to: &$0) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension TracerInstant {
    /// Nanoseconds since 1970.
    var nanoseconds: Int64 { Int64(clamping: nanosecondsSinceEpoch) }
}

extension Telemetry.Span.Kind {
    fileprivate init(_ kind: SpanKind) {
        self =
            switch kind {
            case .server: .server
            case .client: .client
            case .producer: .producer
            case .consumer: .consumer
            case .internal: .internal
            }
    }
}
