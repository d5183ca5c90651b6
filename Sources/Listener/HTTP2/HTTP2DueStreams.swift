internal import HTTP2

/// The streams of a connection for which something is due when the read is over, or at the next flush.
struct HTTP2DueStreams {
    /// Something came for them in the present read. They get to know when it is over.
    var touched: [HTTP2Stream] = []
    /// Their response has ended, and is to be flushed.
    var settling: [HTTP2Stream] = []
    /// They are to be reset, and why.
    var resets: [(HTTP2Stream, HTTP2Error)] = []
    /// Their response's head waits until the client takes what was written before.
    var held: [HTTP2Stream] = []
    /// Their service waits, and they have room again.
    var drained: [HTTP2Stream] = []
}

extension Array {
    /// Takes all elements out, so that others may be appended while these are seen to. The capacity stays.
    mutating func takeAll() -> [Element] {
        guard !isEmpty else { return [] }
        let taken = self
        removeAll(keepingCapacity: true)
        return taken
    }
}
