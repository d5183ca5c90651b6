internal import HTTP1
internal import NIOCore

/// The head or trailers whose fields are coming on a connection. Fields of another stream never come between.
struct HTTP2HeadReading {
    private let limits: HeadLimits
    private let scheme: String
    private var reader: HTTP2HeadReader?
    private(set) var areTrailers = false
    /// The `Authorization` that came last.
    private var repeated = RepeatedField()
    private var literal = HTTP2RepeatedLiteral()

    /// - Parameter scheme: `http` or `https`, by the listener's kind.
    init(limits: HeadLimits, scheme: String) {
        self.limits = limits
        self.scheme = scheme
    }

    /// The frame of a head, with less to be unpacked; nil where it is to be taken as it is.
    ///
    /// - Parameter start: the index behind the frame's header in `bytes`.
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

    /// - Returns: whether the rest is to be unpacked.
    mutating func take(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe areTrailers
            ? reader?.takeTrailer(name, value) != false : reader?.take(name, value, repeating: &repeated) != false
    }

    /// All fields have come.
    mutating func end() -> HTTP2HeadReader? { reader.take() }

    /// Forgets the fields that requests had in common.
    mutating func forget() {
        repeated.forget()
        literal.forget()
    }
}
