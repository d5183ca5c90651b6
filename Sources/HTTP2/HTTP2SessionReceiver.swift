package import NIOCore

/// Takes what a client sends on an HTTP/2 connection, and has what is sent to it.
///
/// Each is called from within ``HTTP2Session/receive(_:)`` or ``HTTP2Session/produce()``, on the thread that called
/// these. None may call one of the two.
package protocol HTTP2SessionReceiver: AnyObject {
    /// A stream's head or trailers begin. Their fields follow, in their order and with none of another stream's between.
    func headBegins(_ stream: Int32, areTrailers: Bool)
    /// A field. Its bytes are valid during the call only.
    ///
    /// - Returns: whether the connection may go on.
    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool
    func headEnds(_ stream: Int32, endStream: Bool)
    /// Part of a body.
    func body(_ stream: Int32, _ part: ByteBuffer)
    /// A DATA frame has ended.
    ///
    /// - Parameter isEmpty: whether it had no byte of a body.
    func dataEnds(_ stream: Int32, isEmpty: Bool, endStream: Bool)
    /// The client ends a stream with RST_STREAM. ``streamCloses(_:)`` follows if it was open.
    func wasReset(_ stream: Int32, code: UInt32)
    /// A PING of this side's has come back.
    func pingCameBack(_ payload: UInt64)
    /// A stream is closed, by whatever means. Nothing comes or goes on it any more.
    func streamCloses(_ stream: Int32)

    /// How much of a response's body is to go into the next DATA frame; nil: none is there for now.
    func nextBody(_ stream: Int32, atMost: Int) -> HTTP2BodyStep?
    /// Hands out so much of it, or the first part of so much.
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
    /// The frame behind it.
    package enum Next {
        /// More of the body.
        case body
        /// Nothing: it ends the stream.
        case end
        /// No more DATA, but trailers or RST_STREAM, which have been given to the session already.
        case other
    }

    package let count: Int
    package let next: Next

    package init(count: Int, next: Next) {
        self.count = count
        self.next = next
    }
}
