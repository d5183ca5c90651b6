internal import HTTP1
internal import NIOCore
internal import NIOHTTP2
internal import Pipeline

extension HTTP2Limits {
    /// The bytes of bodies that a client may send ahead on a connection. Larger than a stream's, so that one upload
    /// held back by its backend does not hold up the others.
    static let connectionWindow = 1 << 20
    /// The same for a stream.
    static let streamWindow = 65_535
}

extension NIOHTTP2Handler.ConnectionConfiguration {
    /// The limits for one connection. A client that exceeds them gets GOAWAY with ENHANCE_YOUR_CALM.
    static func listener(_ head: HeadLimits, _ limits: HTTP2Limits) -> Self {
        var configuration = Self()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: limits.streams),
            HTTP2Setting(parameter: .maxHeaderListSize, value: head.head),
            // RFC 8441 §3: WebSockets may be opened on a stream.
            HTTP2Setting(parameter: .enableConnectProtocol, value: 1),
        ]
        // HTTP2RequestHeadReader checks all of it, and by bytes: comparing a method's characters, as is done there,
        // takes time that grows with the square of the marks of one.
        configuration.headerBlockValidation = .disabled
        configuration.maximumSequentialContinuationFrames = limits.continuationFrames
        configuration.maximumSequentialEmptyDataFrames = 8
        // Answers to PING and SETTINGS that a client does not read.
        configuration.maximumBufferedControlFrames = 200
        configuration.controlFrameRateLimit.maximumCount = 200
        configuration.controlFrameRateLimit.windowLength = .seconds(30)
        configuration.maximumConnectionGlitches = 200
        // Of a stream that has been reset and forgotten, what is still on its way fails the connection (RFC 9113
        // §5.4.2). A client may have all its uploads refused at once.
        configuration.maximumRecentlyResetStreams = max(32, limits.streams)
        return configuration
    }
}

extension NIOHTTP2Handler.StreamConfiguration {
    static func listener(_ limits: HTTP2Limits) -> Self {
        var configuration = Self()
        // CVE-2023-44487, and CVE-2025-8671 for resets that the client provokes.
        configuration.streamResetFrameRateLimit.maximumCount = limits.resets
        configuration.streamResetFrameRateLimit.windowLength = limits.resetWindow
        configuration.streamErrorRateLimit.maximumCount = limits.resets
        configuration.streamErrorRateLimit.windowLength = limits.resetWindow
        return configuration
    }
}

extension HTTP2StreamMultiplexer {
    /// Streams of clients, on a connection whose window ``HTTP2StreamInput`` opens.
    convenience init(on channel: any Channel, stream: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) {
        self.init(
            mode: .server, channel: channel, targetWindowSize: HTTP2Limits.streamWindow,
            outboundBufferSizeHighWatermark: 64 << 10, outboundBufferSizeLowWatermark: 32 << 10,
            inboundStreamInitializer: stream)
    }
}
