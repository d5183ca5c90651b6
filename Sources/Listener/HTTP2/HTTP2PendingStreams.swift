internal import HTTP2

/// The streams of a connection with pending work, for the end of the read or for the next flush.
struct HTTP2PendingStreams {
    /// Streams that received something in the current read. They are notified at its end.
    var touched: [HTTP2Stream] = []
    /// Streams whose response has ended and must be flushed.
    var settling: [HTTP2Stream] = []
    /// Streams to be reset, with the error code.
    var resets: [(HTTP2Stream, HTTP2Error)] = []
    /// Streams whose response head waits until the client has taken earlier output.
    var held: [HTTP2Stream] = []
    /// Streams with room again whose service was paused.
    var drained: [HTTP2Stream] = []
}

extension Array {
    /// Removes and returns all elements, so that new ones can be appended while these are processed. Keeps the
    /// capacity.
    mutating func takeAll() -> [Element] {
        guard !isEmpty else { return [] }
        let taken = self
        removeAll(keepingCapacity: true)
        return taken
    }
}
