import NIOCore
import Pipeline
import Testing

@testable import Settings

@Suite("Limits")
struct DefaultLimitTests {
    @Test("What nobody sets is bounded all the same")
    func defaults() throws {
        let settings = try load(Sample().yaml)
        let limits = settings.limits
        #expect(limits.handshakeTimeout == .seconds(10))
        #expect(limits.headerTimeout == .seconds(10))
        #expect(limits.bodyIdleTimeout == .seconds(30))
        #expect(limits.keepAliveTimeout == .seconds(75))
        #expect(limits.headerCount == 100)
        #expect(limits.headerBytes == 32 << 10)
        #expect(limits.headerLineBytes == 16 << 10)
        #expect(limits.connections == 10_000)
        #expect(limits.requests == 10_000)
        #expect(limits.http2.streams == 100)
        #expect(limits.http2.resets == 200)
        #expect(limits.http2.resetWindow == .seconds(30))
        #expect(limits.http2.continuationFrames == 8)
        #expect(settings.drainTimeout == .seconds(30))
        let upstream = try #require(settings.upstreams.first?.upstream)
        #expect(upstream.timeouts.connect == .seconds(5))
        #expect(upstream.timeouts.firstByte == .seconds(30))
        #expect(upstream.maximumConnections == 1024)
        #expect(upstream.maximumWaiting == 4096)
        #expect(upstream.waitingTimeout == .seconds(5))
        // Forged key ids must not have a provider's key set fetched more often than this.
        #expect(settings.keySets.unknownKeyInterval >= .seconds(30))
    }

    @Test("All of them can be set")
    func configured() throws {
        var sample = Sample()
        sample.more = """
            limits: {handshake_timeout: 1s, requests: 7,
              http2: {streams: 8, resets: 9, reset_window: 10s, continuation_frames: 11}}
            """
        let limits = try load(sample.yaml).limits
        #expect(limits.handshakeTimeout == .seconds(1))
        #expect(limits.requests == 7)
        #expect(limits.http2.streams == 8)
        #expect(limits.http2.resets == 9)
        #expect(limits.http2.resetWindow == .seconds(10))
        #expect(limits.http2.continuationFrames == 11)
    }
}
