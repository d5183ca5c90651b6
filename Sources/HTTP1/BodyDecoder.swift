package import HTTPTypes
package import NIOCore

/// Decodes the body of one message from a connection's bytes, as they arrive.
package struct BodyDecoder: Sendable {
    package enum Part: Equatable, Sendable {
        case data(ByteBuffer)
        /// The body is complete. ``BodyDecoder/trailers`` has the trailer fields, separate from the header fields, so
        /// that none is taken for one. They may also be discarded (RFC 9110 §6.5.1).
        case end
    }

    private enum State: Equatable, Sendable {
        case remaining(Int)
        case untilClose
        case chunkSize
        case chunkData(Int)
        case chunkDataEnd
        case trailers
        case ended
    }

    /// The longest chunk line (size and extensions) and the largest trailer section, in bytes.
    private static let chunkLineLimit = 256
    private static let trailerLimit = 8 << 10

    private var state: State
    /// The trailer fields, once the body is complete; validated, without Transfer-Encoding and Host. Nil if there are
    /// none.
    package private(set) var trailers: HTTPFields?

    package init(_ framing: BodyFraming) {
        state =
            switch framing {
            case .none: .ended
            case .length(let length): .remaining(length)
            case .chunked: .chunkSize
            case .untilClose: .untilClose
            }
    }

    package var isUntilClose: Bool { state == .untilClose }

    /// Returns the next part; nil if more bytes are needed. After `.end`, the rest of `buffer` belongs to the next
    /// message.
    package mutating func next(from buffer: inout ByteBuffer) throws(HTTP1Fault) -> Part? {
        while true {
            switch state {
            case .ended:
                return .end
            case .untilClose:
                return take(buffer.readableBytes, from: &buffer)
            case .remaining(let count):
                guard let part = take(count, from: &buffer) else { return nil }
                let left = count - Self.count(part)
                state = left == 0 ? .ended : .remaining(left)
                return part
            case .chunkSize:
                guard let size = try chunkSize(&buffer) else { return nil }
                state = size == 0 ? .trailers : .chunkData(size)
            case .chunkData(let count):
                guard let part = take(count, from: &buffer) else { return nil }
                let left = count - Self.count(part)
                state = left == 0 ? .chunkDataEnd : .chunkData(left)
                return part
            case .chunkDataEnd:
                guard try chunkDataEnd(&buffer) else { return nil }
                state = .chunkSize
            case .trailers:
                guard try takeTrailers(&buffer) else { return nil }
                state = .ended
            }
        }
    }

    private static func count(_ part: Part) -> Int {
        if case .data(let data) = part { return data.readableBytes }
        return 0
    }

    private func take(_ limit: Int, from buffer: inout ByteBuffer) -> Part? {
        let count = min(limit, buffer.readableBytes)
        guard count > 0, let data = buffer.readSlice(length: count) else { return nil }
        return .data(data)
    }

    /// Reads `chunk-size [chunk-ext] CRLF` (RFC 9112 §7.1). Extensions are validated and discarded.
    private func chunkSize(_ buffer: inout ByteBuffer) throws(HTTP1Fault) -> Int? {
        guard let length = try Self.lineLength(buffer, limit: Self.chunkLineLimit) else { return nil }
        let size: Int? = unsafe buffer.withUnsafeReadableBytes { bytes in
            unsafe Self.parseChunkSize(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        }
        guard let size else { throw .malformedChunk }
        buffer.moveReaderIndex(forwardBy: length + 2)
        return size
    }

    private static func parseChunkSize(_ line: UnsafeRawBufferPointer) -> Int? {
        var size = 0
        var digits = 0
        for index in 0..<line.count {
            let byte = unsafe line[index]
            guard let digit = hexDigit(byte) else { break }
            digits += 1
            guard digits <= 13 else { return nil }
            size = size << 4 | digit
        }
        guard digits > 0 else { return nil }
        guard digits < line.count else { return size }
        return unsafe ChunkExtensions.areValid(UnsafeRawBufferPointer(rebasing: line[digits...])) ? size : nil
    }

    private static func hexDigit(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte - 0x30)
        case 0x41...0x46: Int(byte - 0x41 + 10)
        case 0x61...0x66: Int(byte - 0x61 + 10)
        default: nil
        }
    }

    /// Returns the length of the first line in `buffer` without its CRLF; nil if the line is incomplete.
    private static func lineLength(_ buffer: ByteBuffer, limit: Int) throws(HTTP1Fault) -> Int? {
        let outcome: Result<Int?, HTTP1Fault> = unsafe buffer.withUnsafeReadableBytes { bytes in
            guard let feed = unsafe Grammar.firstLineFeed(in: bytes, from: 0) else {
                return bytes.count > limit ? .failure(.malformedChunk) : .success(nil)
            }
            guard feed > 0, feed <= limit, unsafe bytes[feed - 1] == Grammar.carriageReturn else {
                return .failure(.malformedChunk)
            }
            return .success(feed - 1)
        }
        return try outcome.get()
    }

    private func chunkDataEnd(_ buffer: inout ByteBuffer) throws(HTTP1Fault) -> Bool {
        let first = buffer.getInteger(at: buffer.readerIndex, as: UInt8.self)
        guard first == nil || first == Grammar.carriageReturn else { throw .malformedChunk }
        guard buffer.readableBytes >= 2 else { return false }
        guard buffer.getInteger(at: buffer.readerIndex + 1, as: UInt8.self) == Grammar.lineFeed else {
            throw .malformedChunk
        }
        buffer.moveReaderIndex(forwardBy: 2)
        return true
    }

    /// Reads the trailer section up to its empty line (RFC 9112 §7.1.2). Returns false if it is incomplete.
    private mutating func takeTrailers(_ buffer: inout ByteBuffer) throws(HTTP1Fault) -> Bool {
        let outcome: Result<(length: Int, fields: HTTPFields?)?, HTTP1Fault> = unsafe buffer.withUnsafeReadableBytes {
            bytes in
            Result { () throws(HTTP1Fault) in
                var start = 0
                while let feed = unsafe Grammar.firstLineFeed(in: bytes, from: start) {
                    guard feed > start, unsafe bytes[feed - 1] == Grammar.carriageReturn, feed <= Self.trailerLimit
                    else { throw .malformedChunk }
                    if feed - 1 == start {
                        guard start > 0 else { return (feed + 1, nil) }
                        let lines = try unsafe FieldLines(parsing: UnsafeRawBufferPointer(rebasing: bytes[..<start]))
                        return (feed + 1, lines.fields)
                    }
                    start = feed + 1
                }
                guard bytes.count <= Self.trailerLimit else { throw .malformedChunk }
                return nil
            }
        }
        guard let section = try outcome.get() else { return false }
        buffer.moveReaderIndex(forwardBy: section.length)
        trailers = section.fields
        return true
    }
}
