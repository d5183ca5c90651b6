internal import HTTP2

/// The streams of an HTTP/2 connection: those that are open, and how others were closed.
struct HTTP2StreamTable {
    private var streams: [Int32: HTTP2Stream] = [:]
    /// The stream that was asked for last: mostly it is asked for again.
    private var latest: HTTP2Stream?
    private var closed: HTTP2ClosedStreams
    /// The highest number of a stream whose head began to come.
    private var lastSeen: Int32 = 0

    /// - Parameter mostClosed: how many streams are known that were closed in the same way.
    init(mostClosed: Int) {
        closed = HTTP2ClosedStreams(most: mostClosed)
    }

    var isEmpty: Bool { streams.isEmpty }
    var all: Dictionary<Int32, HTTP2Stream>.Values { streams.values }

    subscript(_ id: Int32) -> HTTP2Stream? { streams[id] }

    /// As the subscript, for a stream of which much comes or goes in a row.
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

    /// Looks at the header of a frame.
    ///
    /// - Returns: whether the stream was seen before.
    mutating func hasSeen(_ header: HTTP2FrameHeader) -> Bool {
        guard header.stream > lastSeen else { return true }
        if header.type == .headers { lastSeen = header.stream }
        return false
    }

    /// The error of the connection that a frame for a closed stream is (RFC 9113 §5.1); nil if the stream was reset.
    func error(ofLate header: HTTP2FrameHeader) -> HTTP2Error? {
        switch closed[header.stream] {
        case .reset: nil
        case .ended: .streamClosed
        case nil: header.type == .headers ? .protocolError : .streamClosed
        }
    }
}
