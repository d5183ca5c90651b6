package import HTTP1
internal import HTTPTypes
package import NIOCore
package import Pipeline

/// A request as the backend gets it: its head in wire form and what is to follow. Only a ``Pipeline/Permit`` makes one.
package struct ForwardedRequest {
    /// Request line and fields, ready to be sent, and sent again for a retry.
    private(set) var head: ByteBuffer
    let framing: BodyFraming
    let isHead: Bool
    /// RFC 9110 §9.2.2.
    let isIdempotent: Bool
    /// The client said that it takes a response's trailers.
    let takesTrailers: Bool
    /// The key that the response to an upgrade must match; nil if no upgrade is asked for.
    let webSocketKey: String?

    /// - Parameters:
    ///   - framing: `none`, `length` or `chunked`, by what the client sends.
    ///   - upstream: whose first server's host the request names where the client names none (HTTP/1.0).
    ///   - webSocketKey: asks the backend to make a WebSocket of the connection, which the permit must allow.
    ///   - buffer: what to write into; its contents are of no more use.
    package init(
        _ permit: borrowing Permit, framing: BodyFraming, upstream: @autoclosure () -> UpstreamSettings,
        webSocketKey: String? = nil, buffer: consuming ByteBuffer = ByteBuffer()
    ) {
        self.framing = framing
        self.webSocketKey = permit.isWebSocket ? webSocketKey : nil
        // RFC 8441 §5: what is an extended CONNECT over HTTP/2 is a GET over HTTP/1.1.
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

    /// The same for all requests for one path, whatever their methods and queries.
    var pathHash: UInt64 {
        let target = head.readableBytesView.drop { $0 != UInt8(ascii: " ") }.dropFirst()
        return StableHash.of(target.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "?") })
    }

    /// Takes the head out, which is not to be sent again.
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
                // RFC 9110 §10.1.4: it has no parameters.
            } else if field.name == .te, webSocketKey == nil, field.value.lists("trailers") {
                takesTrailers = true
            }
        }
        // RFC 9110 §10.1.4: TE is for one connection, and says so.
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
            // RFC 9110 §8.6: a method that expects content says that there is none.
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
