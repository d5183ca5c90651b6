internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// Puts one response after the other into wire form (RFC 9112 §4–7).
struct HTTP1ResponseEncoder {
    private enum Body { case none, sized(Int), chunked, untilClose }

    private var body = Body.none
    /// Whether the connection must end with this response, whatever was announced.
    private(set) var mustClose = false
    /// Whether the body that is going out ends with the connection.
    var isUntilClose: Bool {
        if case .untilClose = body { true } else { false }
    }
    /// Whether the response ends for its client with the connection, also once all of it has been written.
    private(set) var endsWithConnection = false

    /// Writes status line and fields.
    ///
    /// - Parameters:
    ///   - toHead: whether it answers a HEAD request.
    ///   - minorVersion: the request's; an HTTP/1.0 client knows no chunks.
    ///   - keepAlive: whether the connection may go on.
    mutating func writeHead(
        _ head: HTTPResponse, toHead: Bool, minorVersion: Int, keepAlive: Bool, to buffer: inout ByteBuffer
    ) {
        buffer.writeStatusLine(head.status)
        let code = head.status.code
        var length: Int?
        mustClose = !keepAlive
        for field in head.headerFields {
            // Whoever answers says with `Connection: close` that the connection is of no more use.
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
            // RFC 9110 §7.8. From here on bytes go as they come.
            body = .untilClose
            mustClose = true
            buffer.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            return
        }
        endHead(hasNoBody: toHead || Self.neverHasBody(code), length, minorVersion, to: &buffer)
    }

    /// The same with fields that are passed on as they are.
    ///
    /// - Parameters:
    ///   - requestID: for `X-Request-Id`.
    ///   - keepAlive: whether the connection may go on.
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

    /// Decides how the body goes out, says so, and ends the head.
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

    /// How a body part goes out.
    enum Part {
        /// Nothing: the response has no body.
        case none
        /// As it is.
        case plain
        /// With a chunk's size before and a line end behind it.
        case chunk
        /// Longer than was announced: the connection cannot be saved.
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

    /// Writes what ends the body: for a chunked one with its trailers, which others have no place for.
    ///
    /// - Returns: false when the body is shorter than announced, so that only closing tells the client.
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
