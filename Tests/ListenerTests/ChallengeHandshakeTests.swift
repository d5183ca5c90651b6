import Cryptography
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import Listener

@Suite("Handshakes while a challenge is pending")
struct ChallengeHandshakeTests {
    /// A client that says only what it begins with, and a listener with a challenge for `a.test`.
    private final class Handshake {
        let loop = EmbeddedEventLoop()
        let channel: EmbeddedChannel
        let service = ScriptedService()
        private let connections: ConnectionSet

        init(timeout: TimeAmount) throws {
            let key = try P256SigningKey.generate()
            let certificate = TLSCertificate(
                chain: try key.challengeCertificate(for: "a.test", digest: SHA256.hash([])),
                key: try key.privateKeyPEM())
            let challenges = PendingChallenges()
            challenges.set(responses: [], certificates: [("a.test", certificate)])
            let settings = ListenerSettings(
                host: "127.0.0.1", port: 0, handshakeTimeout: timeout, challenges: challenges,
                tls: try ListenerTLS(TLSParameters(certificates: [certificate])))
            connections = ConnectionSet(eventLoop: loop)
            channel = EmbeddedChannel(loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "203.0.113.8", port: 50_000)).wait()
            try ConnectionPipeline(
                shared: SharedListenerSettings(settings), service: service, connections: connections,
                admission: ConnectionAdmission([])
            ).install(on: channel, from: nil)
        }

        deinit {
            connections.stop()
            _ = try? channel.finish(acceptAlreadyClosed: true)
        }

        /// A handshake's first message.
        static func hello(protocols: [String]) throws -> ByteBuffer {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.applicationProtocols = protocols
            let client = EmbeddedChannel()
            try client.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: "a.test"))
            try client.connect(to: SocketAddress(ipAddress: "203.0.113.7", port: 443)).wait()
            let bytes = try #require(try client.readOutbound(as: ByteBuffer.self))
            _ = try? client.finish(acceptAlreadyClosed: true)
            return bytes
        }
    }

    @Test(
        "The time that the first message took counts for the handshake's",
        arguments: [["h2", "http/1.1"], ["acme-tls/1"]])
    func deadline(protocols: [String]) throws {
        let handshake = try Handshake(timeout: .seconds(10))
        handshake.loop.advanceTime(by: .seconds(6))
        try handshake.channel.writeInbound(Handshake.hello(protocols: protocols))
        handshake.loop.run()
        #expect(try handshake.channel.readOutbound(as: ByteBuffer.self) != nil, "TLS answers")
        handshake.loop.advanceTime(by: .seconds(3))
        #expect(handshake.channel.isActive)
        handshake.loop.advanceTime(by: .milliseconds(1500))
        #expect(!handshake.channel.isActive)
        #expect(handshake.service.refusedConnections == [.handshakeFailed])
    }
}
