internal import HTTP1
internal import HTTP2
internal import NIOCore
internal import Pipeline

extension HTTP2SessionLimits {
    /// The limits for one connection. A client that exceeds them gets GOAWAY with ENHANCE_YOUR_CALM.
    init(_ head: HeadLimits, _ limits: HTTP2Limits) {
        let seconds = max(1, Int(limits.resetWindow.nanoseconds / 1_000_000_000))
        // ``HTTP2FrameBudget`` limits resets first, by the configured window; libnghttp2 has a token bucket of its own.
        // It also limits CONTINUATION frames: libnghttp2 counts one for each part in which a frame's header arrives.
        self.init(
            streams: limits.streams, headerListSize: head.head, connectionWindow: Self.connectionWindow,
            continuationFrames: HTTP2FrameHeader.size * limits.continuationFrames + 1, resets: 2 * limits.resets,
            resetsPerSecond: max(1, limits.resets / seconds))
    }

    /// The flow-control window of a connection, in bytes. It is larger than a stream's, so that an upload held back by
    /// its backend does not block the others.
    private static let connectionWindow = 1 << 20
    /// The flow-control window of a stream, in bytes.
    static let streamWindow = 65_535
}
