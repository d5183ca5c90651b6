internal import Cryptography
internal import Logging
internal import Store
internal import Telemetry

/// The span that a task works under: what it calls becomes spans below it, and what it logs has its ids.
struct SpanScope: Sendable {
    @TaskLocal static var current: SpanScope?

    let ids: TraceIDs
    let isSampled: Bool
    let service: TraceService

    /// Runs `body` under `scope`, if there is one.
    static func within<Value: Sendable>(
        _ scope: SpanScope?, _ body: @Sendable () async -> Value
    ) async -> Value {
        guard let scope else { return await body() }
        return await $current.withValue(scope) {
            await StoreObserver.$current.withValue(scope.isSampled ? scope.storeObserver : nil) { await body() }
        }
    }

    /// The ids for lines of the gateway's own log.
    static let metadata = Logger.MetadataProvider {
        current.map { ["trace_id": "\($0.ids.traceText)", "span_id": "\($0.ids.spanText)"] } ?? [:]
    }

    /// A span below it that has ended now.
    func add(
        _ name: String, _ kind: Span.Kind, began: Int64, attributes: [(name: String, value: Span.Value)],
        isError: Bool
    ) {
        guard isSampled else { return }
        service.queue.add(
            Span(
                ids: TraceIDs(traceID: ids.traceID, spanID: Self.newID()), parentID: ids.spanID, name: name, kind: kind,
                start: began, end: WallClock.nanoseconds(), attributes: attributes, isError: isError))
    }

    static func newID() -> UInt64 {
        max(1, SecureRandom.bytes(8).reduce(0) { $0 << 8 | UInt64($1) })
    }

    private var storeObserver: StoreObserver {
        StoreObserver {
            let began = WallClock.nanoseconds()
            return { operation, failed in
                add(
                    "store \(operation)", .client, began: began,
                    attributes: [
                        (name: "db.system.name", value: .text("sqlite")),
                        (name: "db.operation.name", value: .text(operation)),
                    ], isError: failed)
            }
        }
    }
}
