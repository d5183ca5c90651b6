/// The fields of OTLP's `Span` (opentelemetry-proto 1, trace/v1), in the order of their numbers.
extension [UInt8] {
    mutating func append(_ span: Span) {
        appendMessage(field: 2) { bytes in
            bytes.appendIdentity(
                span.ids.traceID, span.ids.spanID, parent: span.parentID,
                name: { $0.append(contentsOf: span.name.utf8) }, span.kind, start: span.start, end: span.end)
            for (name, value) in span.attributes { bytes.appendAttribute(field: 9, name, value) }
            bytes.appendCount(field: 10, span.dropped.attributes)
            for event in span.events { bytes.append(event) }
            bytes.appendCount(field: 12, span.dropped.events)
            for link in span.links { bytes.append(link) }
            bytes.appendCount(field: 14, span.dropped.links)
            bytes.appendStatus(span.status)
        }
    }

    /// Appends the fields common to all spans.
    mutating func appendIdentity(
        _ traceID: UInt128, _ spanID: UInt64, parent: UInt64, name: (inout [UInt8]) -> Void, _ kind: Span.Kind,
        start: Int64, end: Int64
    ) {
        appendIDs(traceID, spanID)
        if parent != 0 {
            append(contentsOf: [4 << 3 | 2, 8])
            appendBigEndian(parent)
        }
        appendMessage(field: 5, name)
        appendVarint(field: 6, UInt64(kind.rawValue))
        appendFixed64(field: 7, UInt64(bitPattern: start))
        appendFixed64(field: 8, UInt64(bitPattern: Swift.max(start, end)))
    }

    /// Appends fields 1 and 2 of spans and links.
    private mutating func appendIDs(_ traceID: UInt128, _ spanID: UInt64) {
        append(contentsOf: [1 << 3 | 2, 16])
        appendBigEndian(UInt64(truncatingIfNeeded: traceID >> 64))
        appendBigEndian(UInt64(truncatingIfNeeded: traceID))
        append(contentsOf: [2 << 3 | 2, 8])
        appendBigEndian(spanID)
    }

    /// Appends the `Resource` field of `ResourceSpans` and `ResourceMetrics`.
    mutating func appendResource(_ attributes: [(name: String, value: String)]) {
        appendMessage(field: 1) { resource in
            for (name, value) in attributes { resource.appendAttribute(field: 1, name, .text(value)) }
        }
    }

    mutating func appendAttribute(field: UInt8, _ name: String, _ value: Span.Value) {
        appendMessage(field: field) { attribute in
            attribute.appendBytes(field: 1, name.utf8)
            attribute.appendValue(field: 2, value)
        }
    }

    /// Appends an `AnyValue`.
    private mutating func appendValue(field: UInt8, _ value: Span.Value) {
        appendMessage(field: field) { any in
            switch value {
            case .text(let text): any.appendBytes(field: 1, text.utf8)
            case .boolean(let boolean): any.appendVarint(field: 2, boolean ? 1 : 0)
            case .number(let number): any.appendVarint(field: 3, UInt64(bitPattern: number))
            case .real(let real): any.appendFixed64(field: 4, real.bitPattern)
            case .list(let values):
                any.appendMessage(field: 5) { list in
                    for value in values { list.appendValue(field: 1, value) }
                }
            }
        }
    }

    private mutating func append(_ event: Span.Event) {
        appendMessage(field: 11) { bytes in
            bytes.appendFixed64(field: 1, UInt64(bitPattern: event.time))
            bytes.appendBytes(field: 2, event.name.utf8)
            for (name, value) in event.attributes { bytes.appendAttribute(field: 3, name, value) }
        }
    }

    private mutating func append(_ link: Span.Link) {
        appendMessage(field: 13) { bytes in
            bytes.appendIDs(link.ids.traceID, link.ids.spanID)
            for (name, value) in link.attributes { bytes.appendAttribute(field: 4, name, value) }
        }
    }

    private mutating func appendCount(field: UInt8, _ count: Int) {
        if count > 0 { appendVarint(field: field, UInt64(count)) }
    }

    mutating func appendStatus(_ status: Span.Status) {
        guard status != .unset else { return }
        appendMessage(field: 15) { bytes in
            if case .error(let message?) = status { bytes.appendBytes(field: 2, message.utf8) }
            // STATUS_CODE_OK, or STATUS_CODE_ERROR.
            bytes.appendVarint(field: 3, status == .ok ? 1 : 2)
        }
    }
}
