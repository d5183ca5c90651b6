import HTTP2
import NIOCore

/// Bytes of frames, written from RFC 9113 §4.1.
enum RawFrame {
    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    /// The preface and an empty SETTINGS frame.
    static let opening = preface + bytes(4)

    static func bytes(_ type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, payload: [UInt8] = []) -> [UInt8] {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
        bytes.writeInteger(flags)
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        return Array(bytes.readableBytesView)
    }

    static func word(_ number: UInt32) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) } }

    /// A header block of literals without indexing, each name and value shorter than 127 bytes (RFC 7541 §6.2.2).
    static func block(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value -> [UInt8] in
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
    }

    static let request = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]

    static func head(_ stream: Int32, flags: UInt8 = 4, _ fields: [(String, String)] = request) -> [UInt8] {
        bytes(1, flags: flags, stream: stream, payload: block(fields))
    }
}

/// A frame that the session sent.
struct SentFrame: Equatable {
    let type: UInt8
    let flags: UInt8
    let stream: Int32
    let payload: [UInt8]

    static func read(_ bytes: [UInt8]) -> [SentFrame] {
        var frames: [SentFrame] = []
        var buffer = ByteBuffer(bytes: bytes)
        while let word = buffer.readInteger(as: UInt32.self), let flags = buffer.readInteger(as: UInt8.self),
            let stream = buffer.readInteger(as: Int32.self), let payload = buffer.readBytes(length: Int(word >> 8))
        {
            frames.append(
                SentFrame(type: UInt8(truncatingIfNeeded: word), flags: flags, stream: stream, payload: payload))
        }
        return frames
    }

    /// The number in four bytes of the payload: an error code, a window's increment.
    func word(at offset: Int = 0) -> UInt32 { payload[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
}
