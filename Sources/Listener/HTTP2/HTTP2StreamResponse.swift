internal import HTTP2
internal import HTTPTypes
internal import NIOCore

/// The part of a stream's response that has not been sent.
struct HTTP2StreamResponse {
    /// Whether the request's method is HEAD.
    var isToHead = false
    /// Whether the stream carries a WebSocket.
    private(set) var isTunnel = false
    /// Whether the head is held back until the connection calls ``HTTP2Stream/releaseHead()``.
    var isHeld = false
    /// The error with which the stream is reset after its response; nil: none.
    var endError: HTTP2Error?
    private(set) var trailers: HTTPFields?
    private var outgoing = HTTP2OutgoingBody()
    private var output = HTTP2StreamOutput()
    /// The response's head until it is sent. It ends the stream if the response ends without a body before the flush.
    private var unwrittenHead: HTTP2FieldList?

    var hasBegun: Bool { outgoing.hasBegun }
    var hasBody: Bool { outgoing.hasBody }
    var hasEnded: Bool { outgoing.hasEnded }
    var hasUnwrittenHead: Bool { unwrittenHead != nil }
    /// Whether so much of the body waits that the service must be paused.
    var isTooMuch: Bool { output.isTooMuch }
    /// Whether the service is paused and may continue.
    var hasRoomAgain: Bool { output.isHeldBack && output.hasRoom }

    // MARK: In

    mutating func begin(_ head: HTTP2ResponseHead, in list: HTTP2FieldList, isTunnel: Bool) {
        self.isTunnel = isTunnel
        outgoing.begin(head)
        unwrittenHead = list
    }

    /// Counts bytes that will be appended.
    ///
    /// - Returns: false if the body exceeds the announced length.
    mutating func mayAppend(_ count: Int) -> Bool { outgoing.take(count) }

    mutating func append(_ part: ByteBuffer) { output.append(part) }

    /// - Returns: false if the body is shorter than announced.
    mutating func end(_ trailers: HTTPFields?) -> Bool {
        guard outgoing.end() else { return false }
        if outgoing.hasBody { self.trailers = trailers }
        isTunnel = false
        output.hasEnded = true
        return true
    }

    /// Records whether the service is paused.
    ///
    /// - Returns: whether the value has changed.
    mutating func holdBack(_ isHeldBack: Bool) -> Bool {
        guard output.isHeldBack != isHeldBack else { return false }
        output.isHeldBack = isHeldBack
        return true
    }

    // MARK: Out

    /// Removes and returns the unsent head, and whether it is the whole response; nil if it was sent.
    mutating func takeHead() -> (list: HTTP2FieldList, isWhole: Bool)? {
        guard let list = unwrittenHead.take() else { return nil }
        return (list, output.isEnd && trailers == nil && endError == nil)
    }

    /// Returns the contents of the next DATA frame; nil if there are none yet.
    func nextBody(atMost most: Int) -> HTTP2BodyStep? { output.next(atMost: most) }

    /// Removes and returns the next bytes of the body, from one part.
    mutating func takeBody(atMost most: Int) -> ByteBuffer { output.take(atMost: most) }

    /// Discards the body and an unsent head.
    ///
    /// - Returns: the field list of the unsent head, for reuse; nil if the head was sent.
    mutating func removeAll() -> HTTP2FieldList? {
        output.removeAll()
        return unwrittenHead.take()
    }
}
