package import HTTPTypes
package import NIOCore

extension ByteBuffer {
    /// Writes `name: value CRLF`. An ``HTTPTypes/HTTPField`` contains no CR, LF or NUL.
    package mutating func writeFieldLine(_ field: HTTPField) {
        let name = field.name.rawName
        unsafe field.withUnsafeBytesOfValue { value in
            write(atMost: name.utf8.count + value.count + 4) { line in
                line.write(name)
                line.write(": ")
                unsafe line.write(UnsafeRawBufferPointer(value))
                line.write("\r\n")
            }
        }
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
        write(atMost: RoomWriter.digits) { $0.write(decimal: number) }
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
