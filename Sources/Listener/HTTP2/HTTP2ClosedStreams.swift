/// The most recently closed streams of a connection, and how each was closed.
///
/// Late frames for a reset stream may have been in transit and are ignored. For a stream that ended they are a
/// connection error (RFC 9113 §5.1).
struct HTTP2ClosedStreams {
    enum Kind { case ended, reset }

    /// Separate rings, so that no number of ended streams evicts a reset one.
    private var ended: Ring
    private var reset: Ring

    /// - Parameter most: the number of streams kept of each kind.
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

    /// How the stream was closed; nil if it was closed too long ago or never opened.
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
