internal import HTTP1
internal import NIOCore

/// The head or trailers being received on a connection. Fields of different streams never interleave.
struct HTTP2HeadReading {
    private let limits: HeadLimits
    private let scheme: String
    private var reader: HTTP2HeadReader?
    private(set) var areTrailers = false
    /// The last `Authorization` field.
    private var repeated = RepeatedField()
    private var literal = HTTP2RepeatedLiteral()

    /// - Parameter scheme: the listener's scheme, `http` or `https`.
    init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
    }

    /// Returns a HEADERS frame that is cheaper to decode than the given one; nil if there is none.
    ///
    /// - Parameter start: the index after the frame's header in `bytes`.
    mutating func decoded(_ header: HTTP2FrameHeader, _ bytes: ByteBuffer, from start: Int) -> ByteBuffer? {
        let frame = start - HTTP2FrameHeader.size
        guard header.isWholeBlock, frame >= bytes.readerIndex, header.length <= bytes.writerIndex - start else {
            return nil
        }
        return literal.decoded(header, bytes, at: frame)
    }

    mutating func begin(areTrailers: Bool) {
        reader = HTTP2HeadReader(limits: limits, scheme: scheme)
        self.areTrailers = areTrailers
    }

    /// - Returns: whether decoding continues.
    mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe areTrailers
            ? reader?.takeTrailer(name, value) != false : reader?.take(name, value, repeating: &repeated) != false
    }

    /// Ends the head or trailers and returns its reader.
    mutating func end() -> HTTP2HeadReader? { reader.take() }

    /// Discards the cached fields of earlier requests.
    mutating func forget() {
        repeated.forget()
        literal.forget()
    }
}
