package import NIOCore

/// The delegate of a session: receives the client's frames and supplies the bodies of responses.
///
/// Its methods are called during `receive`, `produce`, `produceControl` and `fail` of ``HTTP2Session``, on the caller's
/// thread. They must not call `receive`, `produce` or `produceControl`.
package protocol HTTP2SessionReceiver: AnyObject {
    /// A stream's head or trailers begin. Their fields follow in order, without fields of other streams in between.
    func headBegins(_ stream: Int32, areTrailers: Bool)
    /// A field. Its bytes are valid during the call only.
    ///
    /// - Returns: false if the connection must end.
    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    func headEnds(_ stream: Int32, endStream: Bool)
    /// A part of a request's body.
    func body(_ stream: Int32, _ part: ByteBuffer)
    /// A DATA frame has ended.
    ///
    /// - Parameter isEmpty: whether it had no bytes except padding.
    func dataEnds(_ stream: Int32, isEmpty: Bool, endStream: Bool)
    /// The client ends a stream with RST_STREAM. ``streamCloses(_:)`` follows if it was open.
    func wasReset(_ stream: Int32, code: UInt32)
    /// The client has acknowledged a PING of this side.
    func pingCameBack(_ payload: UInt64)
    /// A stream is closed, for whatever reason. No further frames of it are received or sent.
    func streamCloses(_ stream: Int32)

    /// The contents of the next DATA frame of a response; nil if no more of its body is available now.
    func nextBody(_ stream: Int32, atMost: Int) -> HTTP2BodyStep?
    /// Returns at most the next `atMost` bytes of the body that ``nextBody(_:atMost:)`` announced. Never empty.
    func takeBody(_ stream: Int32, atMost: Int) -> ByteBuffer
    /// A DATA frame has been written.
    func dataWasWritten(_ stream: Int32, _ count: Int)
    /// A frame that ends the response was written.
    func endWasWritten(_ stream: Int32)
    /// RST_STREAM was written.
    func resetWasWritten(_ stream: Int32, code: UInt32)
    /// GOAWAY was written with this code.
    func goAwayWasWritten(code: UInt32)
}

/// The contents of a DATA frame.
package struct HTTP2BodyStep {
    /// The next frame of the stream.
    package enum Next {
        /// More of the body.
        case body
        /// None: this frame ends the stream.
        case end
        /// Trailers or RST_STREAM, which have already been submitted to the session.
        case other
    }

    package let count: Int
    package let next: Next

    package init(count: Int, next: Next) {
        self.count = count
        self.next = next
    }
}
