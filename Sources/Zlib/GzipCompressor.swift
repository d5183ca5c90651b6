internal import CZlib
package import NIOCore

/// Compresses bytes to one gzip member (RFC 1952), piece by piece.
///
/// It uses 64 KiB of memory, whatever the input: zlib's window of 8 KiB and tables of a matching size. At level 3, JSON
/// takes about 11 ms per megabyte and shrinks to a quarter; level 6 takes almost twice that for 7 % less.
///
/// The header has a file name of random length (RFC 1952, 2.3.1), as "Heal the BREACH" proposes (Palacios and others,
/// 2022): an attacker has to observe many responses before a difference of one byte in their length is significant.
package struct GzipCompressor: ~Copyable {
    /// The state of the output after a piece.
    package enum Flush: Sendable {
        /// More input follows; zlib may hold back output.
        case nothing
        /// A pause may follow: the output so far can be decompressed completely.
        case piece
        /// The end of the gzip member.
        case end
    }

    private static let level: Int32 = 3
    /// The maximum length of the file name, in bytes.
    package static let mostPadding = 100

    private let stream: UnsafeMutablePointer<z_stream>
    private let header: UnsafeMutablePointer<gz_header>
    private let name: UnsafeMutablePointer<UInt8>
    /// Whether zlib may hold input that has not been output yet.
    private var holdsBytes = false

    /// - Parameter padding: the length of the file name in bytes, at most ``mostPadding``.
    package init(padding: Int = .random(in: 0...mostPadding)) {
        precondition((0...Self.mostPadding).contains(padding), "as many bytes as the name has room for")
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        header = .allocate(capacity: 1)
        header.initialize(to: gz_header())
        name = .allocate(capacity: Self.mostPadding + 1)
        name.initialize(repeating: 0, count: Self.mostPadding + 1)
        name.update(repeating: UInt8(ascii: "a"), count: padding)
        // As with any other object, an allocation failure is fatal.
        precondition(gatehouse_deflate_init_gzip(stream, Self.level) == Z_OK, "zlib has no memory")
        guard padding > 0 else { return }
        header.pointee.name = name
        // Unknown; the header has the same value without a name (RFC 1952, 2.3.1).
        header.pointee.os = 255
        deflateSetHeader(stream, header)
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        header.deallocate()
        name.deallocate()
    }

    /// Compresses `bytes` and returns the next bytes of the member; empty if zlib holds back all output.
    package mutating func compress(_ bytes: ByteBuffer, _ flush: Flush) -> ByteBuffer {
        if case .piece = flush, bytes.readableBytes == 0, !holdsBytes { return ByteBuffer() }
        var output = ByteBuffer()
        var (rest, isOver) = (bytes, false)
        repeat {
            rest.readWithUnsafeMutableReadableBytes { input in
                (stream.pointee.next_in, stream.pointee.avail_in) = (
                    input.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32(clamping: input.count)
                )
                output.writeWithUnsafeMutableBytes(minimumWritableBytes: 4096) { room in
                    deflate(into: room, flush)
                }
                isOver = stream.pointee.avail_out > 0
                let read = input.count - Int(stream.pointee.avail_in)
                // zlib must not access the buffers again.
                (stream.pointee.next_in, stream.pointee.avail_in) = (nil, 0)
                (stream.pointee.next_out, stream.pointee.avail_out) = (nil, 0)
                return read
            }
        } while !isOver
        if case .nothing = flush { holdsBytes = holdsBytes || bytes.readableBytes > 0 } else { holdsBytes = false }
        return output
    }

    /// - Returns: the number of bytes written.
    private func deflate(into room: UnsafeMutableRawBufferPointer, _ flush: Flush) -> Int {
        let size = UInt32(clamping: room.count)
        (stream.pointee.next_out, stream.pointee.avail_out) = (
            room.baseAddress?.assumingMemoryBound(to: UInt8.self), size
        )
        let mode =
            switch flush {
            case .nothing: Z_NO_FLUSH
            case .piece: Z_SYNC_FLUSH
            case .end: Z_FINISH
            }
        let status = CZlib.deflate(stream, mode)
        precondition(status != Z_STREAM_ERROR, "the stream was initialised, and nothing is written behind its end")
        return Int(size - stream.pointee.avail_out)
    }
}
