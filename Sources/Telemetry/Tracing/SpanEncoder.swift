internal import Encoding

/// Encodes spans in OTLP (opentelemetry-proto 1, `ExportTraceServiceRequest`).
package struct SpanEncoder: Sendable {
    /// The encoded `Resource` field of `ResourceSpans`, the same in all deliveries.
    private let resource: [UInt8]
    private let scopeName = "gatehouse"

    /// - Parameter attributes: the attributes of the resource.
    package init(attributes: [(name: String, value: String)]) {
        var resource: [UInt8] = []
        resource.appendResource(attributes)
        self.resource = resource
    }

    /// Returns one delivery with all of these spans.
    package func encode(_ requests: [RequestSpans], _ spans: [Span]) -> [UInt8] {
        var body: [UInt8] = []
        body.reserveCapacity(requests.count * 768 + spans.count * 384 + resource.count + 64)
        body.appendMessage(field: 1) { body in
            body.append(contentsOf: resource)
            body.appendMessage(field: 2) { body in
                body.appendMessage(field: 1) { $0.appendBytes(field: 1, scopeName.utf8) }
                for request in requests { body.append(request) }
                for span in spans { body.append(span) }
            }
        }
        return body
    }

    /// Returns the number of rejected spans or data points from the collector's response
    /// (`ExportTracePartialSuccess.rejected_spans`, `ExportMetricsPartialSuccess.rejected_data_points`). The response
    /// may claim more than were sent; a negative number counts as 0.
    package static func rejected(in answer: [UInt8]) -> Int {
        guard let partial = message(field: 1, in: answer[...]) else { return 0 }
        return max(0, Int(clamping: Int64(bitPattern: number(field: 1, in: partial))))
    }
}

extension [UInt8] {
    /// Names and attributes follow OpenTelemetry's HTTP conventions where these define them.
    fileprivate mutating func append(_ request: RequestSpans) {
        let start = request.record.time * 1_000_000
        appendServerSpan(request, start: start)
        if let part = request.verification {
            appendPart(part, of: request, start: start, kind: .internal) { $0.append(contentsOf: "verify token".utf8) }
        }
        if let part = request.upstream { appendUpstreamSpan(part, of: request, start: start) }
    }

    private mutating func appendServerSpan(_ request: RequestSpans, start: Int64) {
        let record = request.record
        appendMessage(field: 2) { bytes in
            bytes.appendIdentity(
                request.ids.traceID, request.ids.spanID, parent: request.parentID,
                name: { name in
                    name.append(contentsOf: record.method.utf8)
                    guard let route = record.route else { return }
                    name.append(UInt8(ascii: " "))
                    name.append(contentsOf: route.utf8)
                }, .server, start: start, end: start + record.duration * 1000)
            bytes.appendAttribute(field: 9, "http.request.method", .text(record.method))
            bytes.appendTarget(record.loggedTarget)
            bytes.appendAttribute(field: 9, "http.response.status_code", .number(Int64(record.status)))
            bytes.appendAttribute(field: 9, "client.address", .text(record.clientAddress))
            bytes.appendAttribute(field: 9, "gatehouse.request_id", .text(record.requestID))
            if let route = record.route { bytes.appendAttribute(field: 9, "gatehouse.route", .text(route)) }
            if let pattern = request.pattern { bytes.appendAttribute(field: 9, "http.route", .text(pattern)) }
            if let scheme = request.scheme { bytes.appendAttribute(field: 9, "url.scheme", .text(scheme)) }
            if let reason = record.denialReason { bytes.appendAttribute(field: 9, "error.type", .text(reason)) }
            bytes.appendStatus(record.status >= 500 ? .error(nil) : .unset)
        }
    }

    /// Appends the path and the names of the query's parameters, as in the access log.
    private mutating func appendTarget(_ text: String) {
        guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else {
            return appendAttribute(field: 9, "url.path", .text(text))
        }
        appendAttribute(field: 9, "url.path", .text(String(Substring(text.utf8[..<mark]))))
        appendAttribute(field: 9, "url.query", .text(String(Substring(text.utf8[mark...].dropFirst()))))
    }

    private mutating func appendUpstreamSpan(_ part: RequestSpans.Part, of request: RequestSpans, start: Int64) {
        let record = request.record
        appendPart(part, of: request, start: start, kind: .client) { bytes in
            bytes.append(contentsOf: record.method.utf8)
        } attributes: { bytes in
            bytes.appendAttribute(field: 9, "http.request.method", .text(record.method))
            if let name = request.upstreamName { bytes.appendAttribute(field: 9, "gatehouse.upstream", .text(name)) }
            if let server = record.server { bytes.appendAttribute(field: 9, "gatehouse.server", .text(server)) }
            if let address = ServerAddress(url: request.serverURL, socket: request.serverSocket) {
                bytes.appendAttribute(field: 9, "server.address", .text(address.host))
                if let port = address.port { bytes.appendAttribute(field: 9, "server.port", .number(Int64(port))) }
            }
            if record.retries > 0 {
                bytes.appendAttribute(field: 9, "http.request.resend_count", .number(Int64(record.retries)))
            }
            if let reason = record.denialReason {
                bytes.appendAttribute(field: 9, "error.type", .text(reason))
            } else {
                bytes.appendAttribute(field: 9, "http.response.status_code", .number(Int64(record.status)))
            }
            bytes.appendStatus(record.denialReason != nil || record.status >= 400 ? .error(nil) : .unset)
        }
    }

    private mutating func appendPart(
        _ part: RequestSpans.Part, of request: RequestSpans, start: Int64, kind: Span.Kind,
        name: (inout [UInt8]) -> Void, attributes: (inout [UInt8]) -> Void = { _ in }
    ) {
        let start = start + part.start * 1000
        appendMessage(field: 2) { bytes in
            bytes.appendIdentity(
                request.ids.traceID, part.spanID, parent: request.ids.spanID, name: name, kind, start: start,
                end: start + part.duration * 1000)
            attributes(&bytes)
        }
    }
}

extension SpanEncoder {
    /// Returns the last embedded message with this field number; nil if there is none or the bytes are malformed.
    private static func message(field: UInt64, in bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        var found: ArraySlice<UInt8>?
        forEachField(of: bytes) { number, _, content in
            if number == field, let content { found = content }
        }
        return found
    }

    private static func number(field: UInt64, in bytes: ArraySlice<UInt8>) -> UInt64 {
        var found: UInt64 = 0
        forEachField(of: bytes) { number, value, content in
            if number == field, content == nil { found = value }
        }
        return found
    }

    private static func forEachField(
        of bytes: ArraySlice<UInt8>, _ body: (_ number: UInt64, _ value: UInt64, _ content: ArraySlice<UInt8>?) -> Void
    ) {
        var rest = bytes
        while let key = varint(&rest) {
            switch key & 7 {
            case 0:
                guard let value = varint(&rest) else { return }
                body(key >> 3, value, nil)
            case 1: rest = rest.dropFirst(8)
            case 2:
                guard let length = varint(&rest), length <= UInt64(rest.count) else { return }
                body(key >> 3, 0, rest.prefix(Int(length)))
                rest = rest.dropFirst(Int(length))
            case 5: rest = rest.dropFirst(4)
            default: return
            }
        }
    }

    private static func varint(_ bytes: inout ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = bytes.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }
}
