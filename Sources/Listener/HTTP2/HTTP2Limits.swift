internal import HTTP1
internal import HTTP2
internal import NIOCore
internal import Pipeline

extension HTTP2SessionLimits {
    /// The limits for one connection. A client that exceeds them gets GOAWAY with ENHANCE_YOUR_CALM.
    init(_ head: HeadLimits, _ limits: HTTP2Limits) {
        let seconds = max(1, Int(limits.resetWindow.nanoseconds / 1_000_000_000))
        // ``HTTP2FrameBudget`` counts resets first, by the window that is set. libnghttp2 has a bucket of its own. Likewise
        // CONTINUATION frames, which libnghttp2 counts once for each part in which a frame's header comes.
        self.init(
            streams: limits.streams, headerListSize: head.head, connectionWindow: Self.connectionWindow,
            continuationFrames: HTTP2FrameHeader.size * limits.continuationFrames + 1, resets: 2 * limits.resets,
            resetsPerSecond: max(1, limits.resets / seconds))
    }

    /// The bytes of bodies that a client may send ahead on a connection. Larger than a stream's, so that one upload
    /// held back by its backend does not hold up the others.
    private static let connectionWindow = 1 << 20
    /// The same for a stream.
    static let streamWindow = 65_535
}
