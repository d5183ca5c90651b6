internal import HTTP2
internal import HTTPTypes
internal import NIOCore

/// A stream's response, as far as it has not gone out.
struct HTTP2StreamResponse {
    /// It answers a HEAD request.
    var isToHead = false
    /// The stream carries a WebSocket's bytes.
    private(set) var isTunnel = false
    /// The connection calls ``HTTP2Stream/releaseHead()`` when the head may be sent.
    var isHeld = false
    /// The error that the stream ends with behind its response.
    var endError: HTTP2Error?
    private(set) var trailers: HTTPFields?
    private var outgoing = HTTP2OutgoingBody()
    private var output = HTTP2StreamOutput()
    /// The response's head, which ends the stream when nothing follows it before it is flushed.
    private var unwrittenHead: HTTP2FieldList?

    var hasBegun: Bool { outgoing.hasBegun }
    var hasBody: Bool { outgoing.hasBody }
    var hasEnded: Bool { outgoing.hasEnded }
    var hasUnwrittenHead: Bool { unwrittenHead != nil }
    /// Whether more of the body waits than the service should add to.
    var isTooMuch: Bool { output.isTooMuch }
    /// Whether the service waits, and need not any more.
    var hasRoomAgain: Bool { output.isHeldBack && output.hasRoom }

    // MARK: In

    mutating func begin(_ head: HTTP2ResponseHead, in list: HTTP2FieldList, isTunnel: Bool) {
        self.isTunnel = isTunnel
        outgoing.begin(head)
        unwrittenHead = list
    }

    /// Counts bytes that are to be appended.
    ///
    /// - Returns: false when they are more than were announced.
    mutating func mayAppend(_ count: Int) -> Bool { outgoing.take(count) }

    mutating func append(_ part: ByteBuffer) { output.append(part) }

    /// - Returns: false when the body is shorter than was announced.
    mutating func end(_ trailers: HTTPFields?) -> Bool {
        guard outgoing.end() else { return false }
        if outgoing.hasBody { self.trailers = trailers }
        isTunnel = false
        output.hasEnded = true
        return true
    }

    /// The service is told to wait, or to go on.
    ///
    /// - Returns: whether that is a change.
    mutating func holdBack(_ isHeldBack: Bool) -> Bool {
        guard output.isHeldBack != isHeldBack else { return false }
        output.isHeldBack = isHeldBack
        return true
    }

    // MARK: Out

    /// The head, if it is still to be sent, and whether it is the whole response.
    mutating func takeHead() -> (list: HTTP2FieldList, isWhole: Bool)? {
        guard let list = unwrittenHead.take() else { return nil }
        return (list, output.isEnd && trailers == nil && endError == nil)
    }

    /// The contents of the next DATA frame; nil: nothing is there.
    func nextBody(atMost most: Int) -> HTTP2BodyStep? { output.next(atMost: most) }

    /// The next bytes of the body, of one part.
    mutating func takeBody(atMost most: Int) -> ByteBuffer { output.take(atMost: most) }

    /// Drops the body.
    ///
    /// - Returns: the list of a head that is not sent any more.
    mutating func removeAll() -> HTTP2FieldList? {
        output.removeAll()
        return unwrittenHead.take()
    }
}
