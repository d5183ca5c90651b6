package import HTTPTypes
package import NIOCore

extension ByteBuffer {
    /// Writes `name: value CRLF`. Both come from ``HTTPTypes/HTTPField``, which holds no CR, LF or NUL.
    package mutating func writeFieldLine(_ field: HTTPField) {
        writeString(field.name.rawName)
        writeStaticString(": ")
        unsafe field.withUnsafeBytesOfValue { value in
            _ = unsafe writeBytes(UnsafeRawBufferPointer(value))
        }
        writeStaticString("\r\n")
    }

    /// Writes `HTTP/1.1 status reason CRLF` (RFC 9112 §4).
    package mutating func writeStatusLine(_ status: HTTPResponse.Status) {
        if status == .ok {
            writeStaticString("HTTP/1.1 200 OK\r\n")
            return
        }
        writeStaticString("HTTP/1.1 ")
        writeDecimal(status.code)
        writeStaticString(" ")
        writeString(status.reasonPhrase)
        writeStaticString("\r\n")
    }

    /// Writes a non-negative number in decimal digits.
    package mutating func writeDecimal(_ number: Int) {
        guard number >= 10 else {
            writeInteger(UInt8(truncatingIfNeeded: 0x30 + number))
            return
        }
        writeString(String(number))
    }

    /// Writes one chunk of a chunked body (RFC 9112 §7.1). An empty one would end the body, and is not written.
    package mutating func writeChunk(_ data: ByteBuffer) {
        guard data.readableBytes > 0 else { return }
        writeString(String(data.readableBytes, radix: 16))
        writeStaticString("\r\n")
        writeImmutableBuffer(data)
        writeStaticString("\r\n")
    }
}
