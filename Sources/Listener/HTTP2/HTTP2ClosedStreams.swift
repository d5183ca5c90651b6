/// The streams of a connection that were closed last, and how.
///
/// Frames for a stream that was reset may have been under way, and are ignored. For another they are an error of the
/// connection (RFC 9113 §5.1).
struct HTTP2ClosedStreams {
    enum Kind { case ended, reset }

    private let most: Int
    /// Numbers of streams, negative for those that were reset, in a ring.
    private var streams: [Int32] = []
    private var oldest = 0

    init(most: Int) {
        self.most = max(1, most)
    }

    mutating func insert(_ stream: Int32, _ kind: Kind) {
        let entry = kind == .reset ? -stream : stream
        guard streams.count == most else {
            streams.append(entry)
            return
        }
        streams[oldest] = entry
        oldest = (oldest + 1) % most
    }

    /// How the stream was closed; nil when it was long ago, or never open.
    subscript(_ stream: Int32) -> Kind? {
        for entry in streams where entry == stream || entry == -stream { return entry < 0 ? .reset : .ended }
        return nil
    }
}
