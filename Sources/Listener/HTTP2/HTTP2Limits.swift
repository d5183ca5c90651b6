internal import HTTP1
internal import NIOCore
internal import NIOHTTP2

extension NIOHTTP2Handler.ConnectionConfiguration {
    /// What a client may do on one connection. Who does more gets GOAWAY with ENHANCE_YOUR_CALM.
    static func listener(_ settings: ListenerSettings) -> Self {
        var configuration = Self()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: 100),
            HTTP2Setting(parameter: .maxHeaderListSize, value: settings.head.head),
            // RFC 8441 §3: WebSockets may be opened on a stream.
            HTTP2Setting(parameter: .enableConnectProtocol, value: 1),
        ]
        configuration.maximumSequentialContinuationFrames = 8
        configuration.maximumSequentialEmptyDataFrames = 8
        // Answers to PING and SETTINGS that a client does not read.
        configuration.maximumBufferedControlFrames = 200
        configuration.controlFrameRateLimit.maximumCount = 200
        configuration.controlFrameRateLimit.windowLength = .seconds(30)
        configuration.maximumConnectionGlitches = 200
        // Larger than a stream's, so that one upload held back by its backend does not hold up the others.
        configuration.targetWindowSize = 1 << 20
        return configuration
    }
}

extension NIOHTTP2Handler.StreamConfiguration {
    static var listener: Self {
        var configuration = Self()
        configuration.targetWindowSize = 65_535
        configuration.outboundBufferSizeHighWatermark = 64 << 10
        configuration.outboundBufferSizeLowWatermark = 32 << 10
        // CVE-2023-44487, and CVE-2025-8671 for resets that the client provokes.
        configuration.streamResetFrameRateLimit.maximumCount = 200
        configuration.streamResetFrameRateLimit.windowLength = .seconds(30)
        configuration.streamErrorRateLimit.maximumCount = 200
        configuration.streamErrorRateLimit.windowLength = .seconds(30)
        return configuration
    }
}
