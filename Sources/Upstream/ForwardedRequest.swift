package import HTTP1
internal import HTTPTypes
package import NIOCore
package import Pipeline

/// A request as sent to the backend: its head in wire format, and the framing of its body. Only a ``Pipeline/Permit``
/// can create one.
package struct ForwardedRequest {
    /// The request line and fields in wire format, kept for retries.
    private(set) var head: ByteBuffer
    let framing: BodyFraming
    let isHead: Bool
    /// Whether the method is idempotent (RFC 9110 §9.2.2).
    let isIdempotent: Bool
    /// Whether the client accepts trailers in the response.
    let takesTrailers: Bool
    /// The key that the response to an upgrade must match; nil if no upgrade is requested.
    let webSocketKey: String?

    /// - Parameters:
    ///   - framing: `none`, `length` or `chunked`, according to the client's request.
    ///   - upstream: its first server's host is the authority if the client named none (HTTP/1.0).
    ///   - webSocketKey: requests a WebSocket from the backend; ignored unless the permit allows it.
    ///   - buffer: the buffer for the head; its contents are overwritten.
    package init(
        _ permit: borrowing Permit, framing: BodyFraming, upstream: @autoclosure () -> UpstreamSettings,
        webSocketKey: String? = nil, buffer: consuming ByteBuffer = ByteBuffer()
    ) {
        self.framing = framing
        self.webSocketKey = permit.isWebSocket ? webSocketKey : nil
        // RFC 8441 §5: an extended CONNECT over HTTP/2 becomes a GET over HTTP/1.1.
        let method = permit.isWebSocket ? .get : permit.request.method
        self.isHead = method == .head
        self.isIdempotent =
            switch method {
            case .get, .head, .put, .delete, .options: true
            default: false
            }
        buffer.clear(minimumCapacity: 1024)
        let authority = permit.request.authority ?? upstream().servers.first?.authority ?? ""
        takesTrailers = Self.write(permit, method, authority, framing, webSocketKey: self.webSocketKey, to: &buffer)
        self.head = buffer
    }

    /// A hash of the request's path, independent of the method and query.
    var pathHash: UInt64 {
        let target = head.readableBytesView.drop { $0 != UInt8(ascii: " ") }.dropFirst()
        return StableHash.of(target.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "?") })
    }

    /// Removes and returns the head, which will not be sent again.
    mutating func takeHead() -> ByteBuffer {
        let spent = head
        head = ByteBuffer()
        return spent
    }

    /// - Returns: ``takesTrailers``.
    private static func write(
        _ permit: borrowing Permit, _ method: HTTPRequest.Method, _ authority: String, _ framing: BodyFraming,
        webSocketKey: String?, to head: inout ByteBuffer
    ) -> Bool {
        var takesTrailers = false
        let target = permit.target
        let texts = method.rawValue.utf8.count + target.utf8.count + authority.utf8.count
        head.write(atMost: texts + 64) { head in
            head.write(method.rawValue)
            head.write(" ")
            head.write(target)
            head.write(" HTTP/1.1\r\nHost: ")
            head.write(authority)
            head.write("\r\n")
        }
        for field in permit.request.headerFields {
            if permit.passes(field) {
                head.writeFieldLine(field)
                // RFC 9110 §10.1.4: `trailers` has no parameters.
            } else if field.name == .te, webSocketKey == nil, field.value.lists("trailers") {
                takesTrailers = true
            }
        }
        // RFC 9110 §10.1.4: TE applies to one connection, and must be listed in `Connection`.
        if takesTrailers { head.writeStaticString("TE: trailers\r\nConnection: TE\r\n") }
        if let webSocketKey {
            head.writeStaticString("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ")
            head.writeString(webSocketKey)
            head.writeStaticString("\r\n")
        }
        switch framing {
        case .length(let length):
            head.writeStaticString("Content-Length: ")
            head.writeDecimal(length)
            head.writeStaticString("\r\n")
        case .chunked:
            head.writeStaticString("Transfer-Encoding: chunked\r\n")
        case .none:
            // RFC 9110 §8.6: for a method that expects content, send `Content-Length: 0`.
            if expectsContent(method) { head.writeStaticString("Content-Length: 0\r\n") }
        case .untilClose:
            break
        }
        head.writeBytes(permit.lines)
        head.writeStaticString("\r\n")
        return takesTrailers
    }

    private static func expectsContent(_ method: HTTPRequest.Method) -> Bool {
        method == .post || method == .put || method == .patch
    }
}
