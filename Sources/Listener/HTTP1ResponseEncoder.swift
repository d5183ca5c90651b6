internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// Encodes responses in wire format, one after the other (RFC 9112 §4–7).
struct HTTP1ResponseEncoder {
    private enum Body { case none, sized(Int), chunked, untilClose }

    private var body = Body.none
    /// Whether the connection must close after this response.
    private(set) var mustClose = false
    /// Whether the current body is delimited by the end of the connection.
    var isUntilClose: Bool {
        if case .untilClose = body { true } else { false }
    }
    /// Whether the last response was delimited by the end of the connection; also true after its end was written.
    private(set) var endsWithConnection = false

    /// Writes the status line and the fields.
    ///
    /// - Parameters:
    ///   - toHead: whether the request's method is HEAD.
    ///   - minorVersion: the request's minor version; HTTP/1.0 clients do not support chunked bodies.
    ///   - keepAlive: whether the connection may stay open.
    mutating func writeHead(
        _ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool, to buffer: inout ByteBuffer
    ) {
        buffer.writeStatusLine(head.status)
        let code = head.status.code
        var length: Int?
        mustClose = !keepAlive
        for field in head.headerFields {
            // `Connection: close` in the service's response closes the connection.
            if field.name == .connection {
                mustClose = true
                continue
            }
            if field.name == .contentLength {
                if Self.knowsNoLength(code) { continue }
                length = Int(field.value)
            }
            buffer.writeFieldLine(field)
        }
        if head.status == .switchingProtocols {
            // RFC 9110 §7.8. From here on, bytes are passed on unchanged.
            body = .untilClose
            mustClose = true
            buffer.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            return
        }
        endHead(hasNoBody: toHead || Self.neverHasBody(code), length, minorVersion, to: &buffer)
    }

    /// Writes the status line and fields that are passed on unchanged.
    ///
    /// - Parameters:
    ///   - requestID: the value of `X-Request-Id`.
    ///   - keepAlive: whether the connection may stay open.
    mutating func writeHead(
        _ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, toHead: Bool, minorVersion: Int,
        keepAlive: Bool, to buffer: inout ByteBuffer
    ) {
        buffer.writeStatusLine(status)
        mustClose = !keepAlive
        let length = Self.knowsNoLength(status.code) ? nil : lines.contentLength
        let room = lines.bytes.readableBytes + requestID.utf8.count + RoomWriter.digits + 64
        buffer.write(atMost: room) { head in
            if let length {
                head.write("Content-Length: ")
                head.write(decimal: length)
                head.write("\r\n")
            }
            unsafe lines.bytes.withUnsafeReadableBytes { unsafe head.write($0) }
            head.write("X-Request-Id: ")
            head.write(requestID)
            head.write("\r\n")
        }
        endHead(hasNoBody: toHead || Self.neverHasBody(status.code), length, minorVersion, to: &buffer)
    }

    /// RFC 9110 §8.6: no Content-Length with 1xx or 204, not even 0.
    private static func knowsNoLength(_ code: Int) -> Bool { code < 200 || code == 204 }

    private static func neverHasBody(_ code: Int) -> Bool { knowsNoLength(code) || code == 304 }

    /// Chooses the framing of the body, writes its fields, and ends the head.
    private mutating func endHead(hasNoBody: Bool, _ length: Int?, _ minorVersion: Int, to buffer: inout ByteBuffer) {
        if hasNoBody {
            body = .none
        } else if let length {
            body = .sized(length)
        } else if minorVersion >= 1 {
            body = .chunked
            buffer.writeStaticString("Transfer-Encoding: chunked\r\n")
        } else {
            body = .untilClose
            mustClose = true
            endsWithConnection = true
        }
        if mustClose {
            buffer.writeStaticString("Connection: close\r\n")
        } else if minorVersion == 0 {
            buffer.writeStaticString("Connection: keep-alive\r\n")
        }
        buffer.writeStaticString("\r\n")
    }

    /// The encoding of a part of the body.
    enum Part {
        /// Not sent: the response has no body.
        case none
        /// Sent unchanged.
        case plain
        /// Sent as a chunk: after its size, and followed by CRLF.
        case chunk
        /// Longer than the announced length: the connection must be closed.
        case excess
    }

    mutating func part(_ count: Int) -> Part {
        switch body {
        case .none: return .none
        case .chunked: return .chunk
        case .untilClose: return .plain
        case .sized(let left):
            guard count <= left else { return .excess }
            body = .sized(left - count)
            return .plain
        }
    }

    /// Writes the end of the body. Trailers are written only if the body is chunked.
    ///
    /// - Returns: false if the body is shorter than announced; then only closing the connection shows the client the
    ///   error.
    mutating func writeEnd(trailers: HTTPFields? = nil, to buffer: inout ByteBuffer) -> Bool {
        defer { body = .none }
        switch body {
        case .none, .untilClose: return true
        case .sized(let left): return left == 0
        case .chunked:
            buffer.writeStaticString("0\r\n")
            if let trailers {
                for field in trailers { buffer.writeFieldLine(field) }
            }
            buffer.writeStaticString("\r\n")
            return true
        }
    }
}
