internal import Clocks
internal import Cryptography
internal import Logging
package import ServiceContextModule

/// The span that work belongs to. Tasks carry it in their ``ServiceContext``. Spans that they make come below it, be
/// they the gateway's own or a library's, and lines that they log have its ids.
package struct SpanContext: Sendable {
    package let ids: TraceIDs
    package let isSampled: Bool
    /// The client's `tracestate`, for requests that carry its trace on (Trace Context, §3.3); nil if there is none.
    let state: String?
    package let recorder: SpanRecorder

    package init(ids: TraceIDs, isSampled: Bool, state: String? = nil, recorder: SpanRecorder) {
        self.ids = ids
        self.isSampled = isSampled
        self.state = state
        self.recorder = recorder
    }

    /// The first span of a new trace, which the sampler decides about.
    package init(beginningTraceIn recorder: SpanRecorder) {
        let traceID = UInt128(Self.newID()) << 64 | UInt128(Self.newID())
        self.init(
            ids: TraceIDs(traceID: traceID, spanID: Self.newID()), isSampled: recorder.sampler.samples(traceID),
            recorder: recorder)
    }

    /// A new span below this one.
    package func child() -> SpanContext {
        SpanContext(
            ids: TraceIDs(traceID: ids.traceID, spanID: Self.newID()), isSampled: isSampled, state: state,
            recorder: recorder)
    }

    static func newID() -> UInt64 {
        max(1, SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    // MARK: In tasks

    /// The current task's; nil if nothing is traced.
    package static var current: SpanContext? { ServiceContext.current?.span }

    /// The context of tasks that work below this span.
    package var serviceContext: ServiceContext {
        var context = ServiceContext.topLevel
        context.span = self
        return context
    }

    /// The ids for lines of the gateway's own log.
    static let metadata = Logger.MetadataProvider {
        current.map { ["trace_id": "\($0.ids.traceText)", "span_id": "\($0.ids.spanText)"] } ?? [:]
    }

    /// Runs `body` below a new client span, which ends with it. Where nothing is sampled, `body` just runs: neither
    /// `name` nor `attributes` are evaluated.
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

    /// The span that work in this context belongs to; nil if nothing is traced.
    var span: SpanContext? {
        get { self[SpanKey.self] }
        set { self[SpanKey.self] = newValue }
    }
}
