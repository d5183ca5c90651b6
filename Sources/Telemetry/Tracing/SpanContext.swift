internal import Clocks
internal import Cryptography
internal import Logging
package import ServiceContextModule

/// The span of a task's work, carried in its ``ServiceContext``. New spans of the task become its children, both the
/// gateway's own and those of libraries. Lines that the task logs contain its ids.
package struct SpanContext: Sendable {
    package let ids: TraceIDs
    package let isSampled: Bool
    /// The client's `tracestate`, for requests that continue its trace (Trace Context, §3.3); nil if there is none.
    let state: String?
    package let recorder: SpanRecorder

    package init(ids: TraceIDs, isSampled: Bool, state: String? = nil, recorder: SpanRecorder) {
        self.ids = ids
        self.isSampled = isSampled
        self.state = state
        self.recorder = recorder
    }

    /// Creates the root span of a new trace. The sampler decides whether it is sampled.
    package init(beginningTraceIn recorder: SpanRecorder) {
        let traceID = UInt128(Self.newID()) << 64 | UInt128(Self.newID())
        self.init(
            ids: TraceIDs(traceID: traceID, spanID: Self.newID()), isSampled: recorder.sampler.samples(traceID),
            recorder: recorder)
    }

    /// Returns the context of a new child span.
    package func child() -> SpanContext {
        SpanContext(
            ids: TraceIDs(traceID: ids.traceID, spanID: Self.newID()), isSampled: isSampled, state: state,
            recorder: recorder)
    }

    static func newID() -> UInt64 {
        max(1, SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    // MARK: In tasks

    /// The span of the current task; nil if there is none.
    package static var current: SpanContext? { ServiceContext.current?.span }

    /// The service context for tasks whose spans are children of this span.
    package var serviceContext: ServiceContext {
        var context = ServiceContext.topLevel
        context.span = self
        return context
    }

    /// The trace and span ids for lines of the application log.
    static let metadata = Logger.MetadataProvider {
        current.map { ["trace_id": "\($0.ids.traceText)", "span_id": "\($0.ids.spanText)"] } ?? [:]
    }

    /// Runs `body` in a new client span, which ends with it. If the trace is not sampled, `body` runs without a span,
    /// and neither `name` nor `attributes` is evaluated.
    package static func withClientSpan<Value: Sendable>(
        _ name: @autoclosure () -> String, attributes: @autoclosure () -> Span.Attributes,
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard var context = ServiceContext.current, let parent = context.span, parent.isSampled else {
            return try await body()
        }
        let own = parent.child()
        context.span = own
        var span = Span(
            ids: own.ids, parentID: parent.ids.spanID, name: name(), kind: .client, start: WallClock.nanoseconds(),
            attributes: attributes())
        defer {
            span.end = WallClock.nanoseconds()
            own.recorder.queue.add(span)
        }
        do {
            return try await ServiceContext.withValue(context) { try await body() }
        } catch {
            span.status = .error(nil)
            throw error
        }
    }
}

extension ServiceContext {
    private enum SpanKey: ServiceContextKey {
        typealias Value = SpanContext
        static var nameOverride: String? { "gatehouse-span" }
    }

    /// The span of this context; nil if there is none.
    var span: SpanContext? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }
}
