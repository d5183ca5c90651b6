internal import CZlib

/// The reason why data can't be decompressed.
package enum InflateError: Error, Sendable {
    case damaged
    case outOfMemory
}

/// Decompresses Deflate data without a header (RFC 1951) piece by piece and computes the CRC-32 of the result.
///
/// It holds zlib's window of 32 KB and the current input, however large the output is.
package struct Inflater: ~Copyable {
    private let stream: UnsafeMutablePointer<z_stream>
    private var input: [UInt8] = []
    private var position = 0
    private var checksum: UInt = 0
    /// Whether the end of the Deflate data was reached. Input after it is ignored.
    package private(set) var isAtEnd = false

    /// The CRC-32 of all output so far (ISO 3309).
    package var crc32: UInt32 { UInt32(truncatingIfNeeded: checksum) }

    package init() throws(InflateError) {
        let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // Until the first assignment to a property, a thrown error does not run `deinit`.
        guard gatehouse_inflate_init_raw(stream) == Z_OK else {
            stream.deallocate()
            throw .outOfMemory
        }
        self.stream = stream
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Sets the next input, after the previous one was used up.
    package mutating func feed(_ bytes: [UInt8]) { (input, position) = (bytes, 0) }

    /// Decompresses at most `maximum` bytes. Empty if the input is used up or the end is reached.
    package mutating func read(atMost maximum: Int) throws(InflateError) -> [UInt8] {
        guard !isAtEnd, maximum > 0 else { return [] }
        var status = Z_OK
        let output = [UInt8](unsafeUninitializedCapacity: maximum) { output, count in
            input.withUnsafeMutableBufferPointer { input in
                let rest = UnsafeMutableBufferPointer(rebasing: input[position...])
                stream.pointee.next_in = rest.baseAddress
                stream.pointee.avail_in = UInt32(rest.count)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(maximum)
                status = inflate(stream, Z_NO_FLUSH)
                position += rest.count - Int(stream.pointee.avail_in)
                // zlib must not access the arrays again.
                (stream.pointee.next_in, stream.pointee.avail_in) = (nil, 0)
            }
            count = maximum - Int(stream.pointee.avail_out)
            (stream.pointee.next_out, stream.pointee.avail_out) = (nil, 0)
        }
        switch status {
        case Z_STREAM_END: isAtEnd = true
        // No progress: the input is used up.
        case Z_OK, Z_BUF_ERROR: break
        case Z_MEM_ERROR: throw .outOfMemory
        default: throw .damaged
        }
        checksum = CyclicRedundancyCheck.continued(checksum, output)
        return output
    }
}

/// CRC-32 as used by ZIP archives (ISO 3309).
package enum CyclicRedundancyCheck {
    /// - Parameter crc: the CRC-32 of the preceding bytes; 0 at the beginning.
    package static func continued(_ crc: UInt, _ bytes: [UInt8]) -> UInt {
        bytes.withUnsafeBufferPointer { CZlib.crc32(crc, $0.baseAddress, UInt32($0.count)) }
    }
}
