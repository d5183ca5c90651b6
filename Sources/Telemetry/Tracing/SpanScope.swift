internal import Clocks
internal import Cryptography
internal import Logging

/// The span that a task works under: what it calls becomes spans below it, and what it logs has its ids.
package struct SpanScope: Sendable {
    @TaskLocal package static var current: SpanScope?

    package let ids: TraceIDs
    package let isSampled: Bool
    package let recorder: SpanRecorder

    package init(ids: TraceIDs, isSampled: Bool, recorder: SpanRecorder) {
        self.ids = ids
        self.isSampled = isSampled
        self.recorder = recorder
    }

    /// Runs `body` under `scope`, if there is one.
    package static func within<Value: Sendable>(
        _ scope: SpanScope?, _ body: @Sendable () async -> Value
    ) async -> Value {
        guard let scope else { return await body() }
        return await $current.withValue(scope) { await body() }
    }

    /// The ids for lines of the gateway's own log.
    static let metadata = Logger.MetadataProvider {
        current.map { ["trace_id": "\($0.ids.traceText)", "span_id": "\($0.ids.spanText)"] } ?? [:]
    }

    /// A span below it that has ended now.
    package func add(
        _ name: String, _ kind: Span.Kind, began: Int64, attributes: [(name: String, value: Span.Value)],
        isError: Bool
    ) {
        guard isSampled else { return }
        recorder.queue.add(
            Span(
                ids: TraceIDs(traceID: ids.traceID, spanID: Self.newID()), parentID: ids.spanID, name: name, kind: kind,
                start: began, end: WallClock.nanoseconds(), attributes: attributes, isError: isError))
    }

    package static func newID() -> UInt64 {
        max(1, SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Runs `body`, and adds a span below the current one for it; only runs it where nothing is traced.
    package static func measured<Value: Sendable>(
        _ name: String, attributes: [(name: String, value: Span.Value)],
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        guard let current, current.isSampled else { return try await body() }
        let began = WallClock.nanoseconds()
        do {
            let value = try await body()
            current.add(name, .client, began: began, attributes: attributes, isError: false)
            return value
        } catch {
            current.add(name, .client, began: began, attributes: attributes, isError: true)
            throw error
        }
    }
}
