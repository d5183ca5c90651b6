/// The streams of a connection that were closed last, and how.
///
/// Frames for a stream that was reset may have been under way, and are ignored. For another they are an error of the
/// connection (RFC 9113 §5.1).
struct HTTP2ClosedStreams {
    enum Kind { case ended, reset }

    /// Apart, so that no number of streams that end makes a reset forgotten.
    private var ended: Ring
    private var reset: Ring

    /// - Parameter most: how many of each kind are known.
    init(most: Int) {
        ended = Ring(most: most)
        reset = Ring(most: most)
    }

    mutating func insert(_ stream: Int32, _ kind: Kind) {
        switch kind {
        case .ended: ended.insert(stream)
        case .reset: reset.insert(stream)
        }
    }

    /// How the stream was closed; nil when it was long ago, or never open.
    subscript(_ stream: Int32) -> Kind? {
        if reset.contains(stream) { return .reset }
        return ended.contains(stream) ? .ended : nil
    }

    private struct Ring {
        private let most: Int
        private var streams: [Int32] = []
        private var oldest = 0

        init(most: Int) {
            self.most = max(1, most)
        }

        mutating func insert(_ stream: Int32) {
            guard streams.count == most else {
                streams.append(stream)
                return
            }
            streams[oldest] = stream
            oldest = (oldest + 1) % most
        }

        func contains(_ stream: Int32) -> Bool { streams.contains(stream) }
    }
}
