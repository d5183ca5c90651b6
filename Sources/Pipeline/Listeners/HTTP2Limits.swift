package import NIOCore

/// The limits for a client on one HTTP/2 connection.
package struct HTTP2Limits: Sendable {
    /// The maximum number of concurrent streams.
    package var streams: Int
    /// The maximum number of streams that the client resets, or makes the gateway reset, within ``resetWindow``.
    package var resets: Int
    package var resetWindow: TimeAmount
    /// The maximum number of CONTINUATION frames for one header block.
    package var continuationFrames: Int

    package init(
        streams: Int = 100, resets: Int = 200, resetWindow: TimeAmount = .seconds(30), continuationFrames: Int = 8
    ) {
        self.streams = streams
        self.resets = resets
        self.resetWindow = resetWindow
        self.continuationFrames = continuationFrames
    }
}
