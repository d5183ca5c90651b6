internal import Locking
internal import Tracing

/// The recorded data of a library's span. It does not change after the span's end.
final class SpanRecording: Sendable {
    private struct State {
        var name: String
        var attributes: SpanAttributes = [:]
        var events: [SpanEvent] = []
        var links: [(ids: TraceIDs, attributes: SpanAttributes)] = []
        var status = Telemetry.Span.Status.unset
        var dropped = Telemetry.Span.Dropped()
        var hasEnded = false
    }

    /// The maximum numbers of attributes, events and links of a span (OpenTelemetry's defaults), and of the attributes
    /// of each event and link.
    static let limit = 128

    private let begun: Telemetry.Span
    private let queue: SpanQueue
    private let state: Locked<State>

    /// - Parameter begun: the span without its end.
    init(_ begun: Telemetry.Span, to queue: SpanQueue) {
        self.begun = begun
        self.queue = queue
        state = Locked(State(name: begun.name))
    }

    var hasEnded: Bool { state.withLock { $0.hasEnded } }
    var operationName: String { state.withLock { $0.name } }
    var attributes: SpanAttributes { state.withLock { $0.attributes } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            if !state.hasEnded { body(&state) }
        }
    }

    func setOperationName(_ name: String) { change { $0.name = name } }

    func setAttributes(_ attributes: SpanAttributes) { change { $0.attributes = attributes } }

    func add(_ event: SpanEvent) {
        change { state in
            if state.events.count < Self.limit { state.events.append(event) } else { state.dropped.events += 1 }
        }
    }

    /// Adds a link. A link to a span that is not the gateway's is ignored.
    func add(_ link: SpanLink) {
        guard let ids = link.context.span?.ids else { return }
        change { state in
            if state.links.count < Self.limit {
                state.links.append((ids, link.attributes))
            } else {
                state.dropped.links += 1
            }
        }
    }

    /// Sets the status. OK is final (OpenTelemetry Trace API, "Set Status").
    func setStatus(_ status: SpanStatus) {
        change { state in
            guard state.status != .ok else { return }
            state.status =
                switch status.code {
                case .ok: .ok
                case .error: .error(status.message)
                }
        }
    }

    func end(_ time: Int64) {
        var ended: State?
        change { state in
            state.hasEnded = true
            ended = state
        }
        if let ended { queue.add(span(ended, end: time)) }
    }

    private func span(_ state: State, end: Int64) -> Telemetry.Span {
        var span = begun
        span.name = state.name
        span.end = end
        span.attributes = state.attributes.limited
        span.status = state.status
        span.events = state.events.map { event in
            Telemetry.Span.Event(
                name: event.name, time: Int64(clamping: event.nanosecondsSinceEpoch),
                attributes: event.attributes.limited)
        }
        span.links = state.links.map { Telemetry.Span.Link(ids: $0.ids, attributes: $0.attributes.limited) }
        span.dropped = state.dropped
        span.dropped.attributes = state.attributes.count - span.attributes.count
        return span
    }
}

extension SpanAttributes {
    /// The attributes sorted by name, up to the limit.
    fileprivate var limited: Telemetry.Span.Attributes {
        var all: Telemetry.Span.Attributes = []
        all.reserveCapacity(count)
        forEach { name, attribute in
            if let value = Telemetry.Span.Value(attribute) { all.append((name, value)) }
        }
        all.sort { $0.name < $1.name }
        return Array(all.prefix(SpanRecording.limit))
    }
}

extension Telemetry.Span.Value {
    /// Nil for kinds of values that later versions of swift-distributed-tracing may add.
    fileprivate init?(_ attribute: SpanAttribute) {
        switch attribute {
        case .string(let text): self = .text(text)
        case .stringArray(let texts): self = .list(texts.map { .text($0) })
        case .stringConvertible(let value): self = .text("\(value)")
        case .stringConvertibleArray(let values): self = .list(values.map { .text("\($0)") })
        case .bool(let value): self = .boolean(value)
        case .boolArray(let values): self = .list(values.map { .boolean($0) })
        case .int32(let number): self = .number(Int64(number))
        case .int32Array(let numbers): self = .list(numbers.map { .number(Int64($0)) })
        case .int64(let number): self = .number(number)
        case .int64Array(let numbers): self = .list(numbers.map { .number($0) })
        case .double(let number): self = .real(number)
        case .doubleArray(let numbers): self = .list(numbers.map { .real($0) })
        default: return nil
        }
    }
}
