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

    /// - Parameters:
    ///   - framing: `none`, `length` or `chunked`, by what the client sends.
    ///   - buffer: what to write into; its contents are of no more use.
    package init(_ permit: borrowing Permit, framing: BodyFraming, buffer: consuming ByteBuffer = ByteBuffer()) {
        self.framing = framing
        self.isHead = permit.request.method == .head
        self.isIdempotent =
            switch permit.request.method {
            case .get, .head, .put, .delete, .options: true
            default: false
            }
        buffer.clear(minimumCapacity: 1024)
        Self.write(permit, framing, to: &buffer)
        self.head = buffer
    }

    /// Takes the head out, which is not to be sent again.
    mutating func takeHead() -> ByteBuffer {
        let spent = head
        head = ByteBuffer()
        return spent
    }

    private static func write(_ permit: borrowing Permit, _ framing: BodyFraming, to head: inout ByteBuffer) {
        head.writeString(permit.request.method.rawValue)
        head.writeStaticString(" ")
        head.writeString(permit.target)
        head.writeStaticString(" HTTP/1.1\r\nHost: ")
        head.writeString(permit.request.authority ?? "")
        head.writeStaticString("\r\n")
        for field in permit.request.headerFields where permit.passes(field) {
            head.writeFieldLine(field)
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
            if expectsContent(permit.request.method) { head.writeStaticString("Content-Length: 0\r\n") }
        case .untilClose:
            break
        }
        head.writeBytes(permit.lines)
        head.writeStaticString("\r\n")
    }

    private static func expectsContent(_ method: HTTPRequest.Method) -> Bool {
        method == .post || method == .put || method == .patch
    }
}
