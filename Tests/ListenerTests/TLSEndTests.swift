import Cryptography
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOSSL
import Testing

@testable import Listener

@Suite("The end of a connection over TLS")
struct TLSEndTests {
    /// A client that has asked for one response, and a listener that has closed its side behind it.
    private final class Connection {
        let loop = EmbeddedEventLoop()
        let server: EmbeddedChannel
        private let client: EmbeddedChannel
        private let connections: ConnectionSet
        private(set) weak var tls: TLSHandler?

        init() throws {
            let key = try P256SigningKey.generate()
            let certificate = TLSCertificate(
                chain: try key.challengeCertificate(for: "a.test", digest: SHA256.hash([])),
                key: try key.privateKeyPEM())
            let settings = ListenerSettings(
                host: "127.0.0.1", port: 0, tls: try ListenerTLS(TLSParameters(certificates: [certificate])))
            connections = ConnectionSet(eventLoop: loop)
            server = EmbeddedChannel(loop: loop)
            client = EmbeddedChannel(loop: loop)
            try server.connect(to: SocketAddress(ipAddress: "203.0.113.8", port: 50_000)).wait()
            try ConnectionPipeline(
                shared: SharedListenerSettings(settings), service: ScriptedService { $0.answer(.ok, "x") },
                connections: connections, admission: ConnectionAdmission([])
            ).install(on: server, from: nil)
            tls = try server.pipeline.syncOperations.handler(type: TLSHandler.self)
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.certificateVerification = .none
            try client.pipeline.syncOperations.addHandler(
                NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: "a.test"))
            try client.connect(to: SocketAddress(ipAddress: "203.0.113.7", port: 443)).wait()
            try exchange()
            try client.writeOutbound(
                ByteBuffer(string: "GET / HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n"))
            try exchange()
        }

        deinit {
            connections.stop()
            _ = try? server.finish(acceptAlreadyClosed: true)
            _ = try? client.finish(acceptAlreadyClosed: true)
        }

        /// Carries what both sides send until neither sends any more.
        private func exchange() throws {
            var isQuiet = false
            while !isQuiet {
                isQuiet = true
                loop.run()
                while let bytes = try client.readOutbound(as: ByteBuffer.self) {
                    try server.writeInbound(bytes)
                    isQuiet = false
                }
                loop.run()
                while let bytes = try server.readOutbound(as: ByteBuffer.self) {
                    try client.writeInbound(bytes)
                    isQuiet = false
                }
            }
        }

        func response() throws -> String {
            var text = ""
            while let bytes = try client.readInbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
            return text
        }
    }

    @Test("A connection whose last response has left is closed without the client's goodbye, and keeps no buffers")
    func memory() throws {
        let connection = try Connection()
        #expect(try connection.response().hasSuffix("\r\n\r\nx"))
        #expect(!connection.server.isActive)
        #expect(connection.tls == nil)
    }
}
