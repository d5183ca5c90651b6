internal import HTTP2

/// The open streams of an HTTP/2 connection, and how others were closed.
struct HTTP2StreamTable {
    private var streams: [Int32: HTTP2Stream] = [:]
    /// The stream that was looked up last: the next lookup is mostly for the same one.
    private var latest: HTTP2Stream?
    private var closed: HTTP2ClosedStreams
    /// The highest stream identifier whose head has begun.
    private var lastSeen: Int32 = 0

    /// - Parameter mostClosed: the number of closed streams kept for each way of closing.
    init(mostClosed: Int) {
        closed = HTTP2ClosedStreams(most: mostClosed)
    }

    var isEmpty: Bool { streams.isEmpty }
    var all: Dictionary<Int32, HTTP2Stream>.Values { streams.values }

    subscript(_ id: Int32) -> HTTP2Stream? { streams[id] }

    /// As the subscript, but caches the result for consecutive lookups of one stream.
    mutating func find(_ id: Int32) -> HTTP2Stream? {
        if let latest, latest.id == id { return latest }
        latest = streams[id]
        return latest
    }

    mutating func insert(_ stream: HTTP2Stream) {
        streams[stream.id] = stream
        latest = stream
    }

    mutating func remove(_ stream: HTTP2Stream) {
        streams[stream.id] = nil
        if latest === stream { latest = nil }
    }

    mutating func takeAll() -> Dictionary<Int32, HTTP2Stream>.Values {
        defer { (streams, latest) = ([:], nil) }
        return streams.values
    }

    // MARK: Closed streams

    mutating func wasClosed(_ id: Int32, _ kind: HTTP2ClosedStreams.Kind) { closed.insert(id, kind) }

    /// Records the header of a frame.
    ///
    /// - Returns: whether the stream was seen before.
    mutating func hasSeen(_ header: HTTP2FrameHeader) -> Bool {
        guard header.stream > lastSeen else { return true }
        if header.type == .headers { lastSeen = header.stream }
        return false
    }

    /// Returns the connection error for a frame on a closed stream (RFC 9113 §5.1); nil if the stream was reset.
    func error(ofLate header: HTTP2FrameHeader) -> HTTP2Error? {
        switch closed[header.stream] {
        case .reset: nil
        case .ended: .streamClosed
        case nil: header.type == .headers ? .protocolError : .streamClosed
        }
    }
}
