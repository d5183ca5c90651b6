import Cryptography
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS
import SeededRandom
import Sockets
import TLS
import Testing

@testable import Listener

@Suite("TLS of a connection")
struct TLSHandlerTests {
    // MARK: Bytes

    @Test("Bytes arrive as they were sent, in both directions", arguments: Link.versions)
    func bytes(version: TLSVersion) throws {
        let link = try Link(version: version)
        try link.shakeHands()
        #expect(link.handler.isTLS13 == (version == .tlsv13))
        for count in [1, 2_047, 2_048, 16_384, 16_385, 65_536, 300_000] {
            let bytes = Link.bytes(count)
            try link.client.writeOutbound(bytes)
            try link.exchange()
            #expect(try link.receivedByServer() == bytes)
            let sent = link.loop.makePromise(of: Void.self)
            link.server.writeAndFlush(bytes, promise: sent)
            try link.exchange()
            #expect(try link.receivedByClient() == bytes)
            #expect(link.hasSucceeded(sent.futureResult))
        }
    }

    @Test("A handshake and records that arrive byte by byte", arguments: Link.versions)
    func fragments(version: TLSVersion) throws {
        let link = try Link(version: version)
        link.fragmentSize = 1
        try link.shakeHands()
        try link.client.writeOutbound(Link.bytes(5_000))
        try link.exchange()
        #expect(try link.receivedByServer() == Link.bytes(5_000))
    }

    @Test("An empty write is fulfilled after the writes before it")
    func emptyWrite() throws {
        let link = try Link()
        try link.shakeHands()
        var order: [Int] = []
        for (index, count) in [70_000, 0, 1].enumerated() {
            let promise = link.loop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenSuccess { order.append(index) }
            link.server.write(Link.bytes(count), promise: promise)
        }
        link.server.flush()
        try link.exchange()
        #expect(order == [0, 1, 2])
        #expect(try link.receivedByClient().readableBytes == 70_001)
    }

    @Test("Bytes that are kept do not change with the next ones")
    func keptBytes() throws {
        let link = try Link()
        try link.shakeHands()
        for byte in UInt8(0)..<20 {
            try link.client.writeOutbound(ByteBuffer(repeating: byte, count: 100))
            try link.exchange()
        }
        for byte in UInt8(0)..<20 {
            #expect(try link.server.readInbound(as: ByteBuffer.self) == ByteBuffer(repeating: byte, count: 100))
        }
    }

    // MARK: The handshake

    @Test(
        "The first of the listener's protocols that the client offers is selected",
        arguments: [
            (["h2"], "h2"), (["http/1.1", "h2"], "h2"), (["http/1.1"], "http/1.1"), (["spdy/1"], nil), ([], nil),
        ] as [([String], String?)])
    func protocols(offered: [String], selected: String?) throws {
        let link = try Link(protocols: offered)
        try link.shakeHands()
        #expect(link.inbound.handshakes == [selected])
    }

    @Test("A client gets the certificate of the name that it asks for, and the default for another")
    func names() throws {
        let listener = try ListenerTLS(
            TLSParameters(certificates: [Link.certificate("a.test"), Link.certificate("b.test")]))
        for (name, expected) in [
            ("a.test", "a.test"), ("b.test", "b.test"), ("B.TEST", "b.test"), ("c.test", "a.test"),
        ] {
            let link = try Link(listener: listener, serverName: name)
            try link.shakeHands()
            let ssl = try link.client.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            let names = ssl.peerCertificate?._subjectAlternativeNames().map {
                String(decoding: $0.contents, as: UTF8.self)
            }
            #expect(names == [expected])
        }
    }

    @Test(
        "Bytes that are no handshake get an alert, and the connection fails once",
        arguments: ["GET / HTTP/1.1\r\n\r\n", "\u{16}\u{3}\u{1}\u{0}\u{5}\u{1}\u{0}\u{0}\u{1}\u{0}", "\0\0\0\0\0\0"])
    func noHandshake(text: String) throws {
        let link = try Link()
        try link.server.writeInbound(ByteBuffer(string: text))
        link.loop.run()
        #expect(link.inbound.errors.count == 1)
        #expect(link.handler.hasBegun)
        #expect(!link.server.isActive)
        // BoringSSL recognizes HTTP, whose client would not read an alert.
        let alert = try link.server.readOutbound(as: ByteBuffer.self)
        #expect(alert?.getInteger(at: 0, as: UInt8.self) == (text.hasPrefix("GET") ? nil : 21))
    }

    @Test("A listener without a certificate ends each handshake with an alert")
    func noCertificate() throws {
        let link = try Link(listener: ListenerTLS(TLSParameters(certificates: [], awaitsCertificates: true)))
        #expect(throws: (any Error).self) { try link.shakeHands() }
        #expect(link.inbound.errors.count == 1)
        #expect(!link.server.isActive)
    }

    @Test("A client that leaves has failed its handshake only if it had begun one", arguments: [true, false])
    func leftAtHandshake(hasBegun: Bool) throws {
        let link = try Link()
        if hasBegun { try link.server.writeInbound(ByteBuffer(bytes: [22, 3, 1])) }
        link.breakOff()
        #expect(link.inbound.errors.count == (hasBegun ? 1 : 0))
        #expect(link.handler.hasBegun == hasBegun)
    }

    @Test("A write before the end of the handshake fails")
    func earlyWrite() throws {
        let link = try Link()
        #expect(throws: ChannelError.ioOnClosedChannel) { try link.server.writeOutbound(Link.bytes(1)) }
        try link.shakeHands()
        try link.server.writeOutbound(Link.bytes(1))
    }

    @Test("An encrypted key is refused, and a key of another certificate")
    func keys() throws {
        var certificate = try Link.certificate("a.test")
        certificate.key = try Link.certificate("a.test").key
        #expect(throws: TLSErrors(errors: [.keyOfAnotherCertificate(0)])) {
            try ListenerTLS(TLSParameters(certificates: [certificate]))
        }
        certificate.key = Secret(Array(Self.encryptedKey.utf8))
        #expect(throws: TLSErrors(errors: [.malformedKey(0)])) {
            try ListenerTLS(TLSParameters(certificates: [certificate]))
        }
    }

    // MARK: Hostile records

    @Test("A record that was changed ends the connection with an alert and is not passed on", arguments: Link.versions)
    func changedRecords(version: TLSVersion) throws {
        var generator = SeededGenerator(seed: 23)
        for _ in 0..<50 {
            let link = try Link(version: version)
            try link.shakeHands()
            var record = try link.record(of: 200)
            // Not the length: a longer record only waits for more.
            let index = record.readerIndex + 5 + generator.index(below: record.readableBytes - 5)
            let byte = try #require(record.getInteger(at: index, as: UInt8.self))
            record.setInteger(byte ^ (1 << UInt8(generator.index(below: 8))), at: index)
            try link.server.writeInbound(record)
            link.loop.run()
            #expect(try link.receivedByServer().readableBytes == 0)
            #expect(link.inbound.errors.count == 1)
            #expect(!link.server.isActive)
            #expect(try link.server.readOutbound(as: ByteBuffer.self) != nil, "an alert")
        }
    }

    @Test("Records after a bad one are not passed on, even if they are good")
    func afterBadRecord() throws {
        let link = try Link()
        try link.shakeHands()
        var bytes = ByteBuffer(bytes: [23, 3, 3, 0, 20] + [UInt8](repeating: 7, count: 20))
        var good = try link.record(of: 10)
        bytes.writeBuffer(&good)
        try link.server.writeInbound(bytes)
        link.loop.run()
        #expect(try link.receivedByServer().readableBytes == 0)
        #expect(!link.server.isActive)
    }

    @Test("A record that is shorter than its authentication tag ends the connection")
    func shortRecord() throws {
        let link = try Link(version: .tlsv12)
        try link.shakeHands()
        try link.server.writeInbound(ByteBuffer(bytes: [23, 3, 3, 0, 0]))
        link.loop.run()
        #expect(!link.server.isActive)
    }

    // MARK: The end

    @Test("A close sends close_notify, and waits for the client's", arguments: Link.versions)
    func closeExchange(version: TLSVersion) throws {
        let link = try Link(version: version)
        try link.shakeHands()
        let closed = (0..<2).map { _ in link.server.close() }
        #expect(link.server.isActive)
        try link.exchange()
        #expect(!link.server.isActive)
        for future in closed { #expect(link.hasSucceeded(future)) }
        #expect(!link.client.isActive)
        #expect(link.inbound.errors.isEmpty)
    }

    @Test("A client that does not answer close_notify is closed after 100 ms")
    func closeTimeout() throws {
        let link = try Link()
        try link.shakeHands()
        let closed = link.server.close()
        link.loop.advanceTime(by: .milliseconds(99))
        #expect(link.server.isActive)
        link.loop.advanceTime(by: .milliseconds(1))
        #expect(!link.server.isActive)
        #expect(link.hasSucceeded(closed))
    }

    @Test("Bytes that arrive while the connection closes are not passed on, and writes fail")
    func whileClosing() throws {
        let link = try Link()
        try link.shakeHands()
        link.server.close(promise: nil)
        try link.server.writeInbound(try link.record(of: 10))
        #expect(try link.receivedByServer().readableBytes == 0)
        #expect(throws: ChannelError.ioOnClosedChannel) { try link.server.writeOutbound(Link.bytes(1)) }
    }

    @Test("The client's close_notify closes the connection, after the bytes before it")
    func clientCloses() throws {
        let link = try Link()
        try link.shakeHands()
        link.client.writeAndFlush(Link.bytes(10), promise: nil)
        link.client.close(promise: nil)
        try link.exchange()
        #expect(try link.receivedByServer() == Link.bytes(10))
        #expect(!link.server.isActive && !link.client.isActive)
        #expect(link.inbound.errors.isEmpty)
    }

    @Test("Bytes after the client's close_notify are ignored while the connection stays open")
    func afterClientCloses() throws {
        let link = try Link()
        try link.server.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        try link.shakeHands()
        link.client.close(promise: nil)
        let goodbye = try #require(try link.client.readOutbound(as: ByteBuffer.self))
        try link.server.writeInbound(goodbye)
        for _ in 0..<100 { try link.server.writeInbound(ByteBuffer(repeating: 23, count: 60_000)) }
        link.server.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(link.inbound.inputEnds == 1)
        #expect(link.server.isActive)
        #expect(link.session.unprocessedBytes == 0)
        try link.server.writeOutbound(Link.bytes(10))
        #expect(try link.receivedByServer().readableBytes == 0)
        #expect(link.inbound.errors.isEmpty)
        // The second half ends with a close_notify too, and the connection stays until its handler closes it.
        let ended = link.loop.makePromise(of: Void.self)
        link.server.close(mode: .output, promise: ended)
        #expect(link.hasSucceeded(ended.futureResult))
        #expect(try link.server.readOutbound(as: ByteBuffer.self) != nil)
        #expect(link.server.isActive)
        link.server.close(promise: nil)
        #expect(!link.server.isActive)
    }

    @Test("After the output's end, a close waits for the client's close_notify, or 100 ms", arguments: [true, false])
    func outputEndAndClose(answers: Bool) throws {
        let link = try Link()
        try link.shakeHands()
        link.server.close(mode: .output, promise: nil)
        let closed = link.server.close()
        #expect(link.server.isActive)
        if answers { try link.exchange() } else { link.loop.advanceTime(by: .milliseconds(100)) }
        #expect(!link.server.isActive)
        #expect(link.hasSucceeded(closed))
    }

    @Test("Good records with a bad one behind them in one read are not passed on, and the connection fails once")
    func beforeBadRecord() throws {
        let link = try Link()
        try link.shakeHands()
        var bytes = try link.record(of: 10)
        bytes.writeBytes([23, 3, 3, 0, 20] + [UInt8](repeating: 7, count: 20))
        try link.server.writeInbound(bytes)
        link.loop.run()
        #expect(link.inbound.reads == 0)
        #expect(link.inbound.errors.count == 1)
    }

    @Test("A connection that breaks as it closes is closed, and its promises are fulfilled")
    func breaksAtClose() throws {
        let link = try Link()
        try link.shakeHands()
        try link.server.pipeline.syncOperations.addHandler(BreakingFlush(), position: .first)
        #expect(link.hasSucceeded(link.server.close()))
        #expect(!link.server.isActive)
    }

    @Test("After the output's end the client can still send")
    func outputEnd() throws {
        let link = try Link()
        try link.shakeHands()
        link.server.close(mode: .output, promise: nil)
        try link.server.writeInbound(try link.record(of: 10))
        #expect(try link.receivedByServer() == Link.bytes(10))
        #expect(throws: ChannelError.outputClosed) { try link.server.writeOutbound(Link.bytes(1)) }
    }

    @Test("The end of a client's bytes without close_notify is an error")
    func truncation() throws {
        let link = try Link()
        try link.shakeHands()
        link.server.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(link.inbound.errors.count == 1)
        #expect(link.inbound.inputEnds == 1)
    }

    @Test("A handler may close the connection while bytes are passed to it")
    func reentrantClose() throws {
        let link = try Link()
        try link.shakeHands()
        link.inbound.onRead = { context in
            context.channel._channelCore.close0(error: ChannelError.eof, mode: .all, promise: nil)
        }
        link.client.write(Link.bytes(100_000), promise: nil)
        try link.client.writeOutbound(Link.bytes(100_000))
        try link.exchange()
        #expect(!link.server.isActive)
        #expect(link.inbound.reads == 1)
    }

    @Test("A handler may write while bytes are passed to it")
    func reentrantWrite() throws {
        let link = try Link()
        try link.shakeHands()
        link.inbound.onRead = { context in
            context.writeAndFlush(NIOAny(Link.bytes(30_000)), promise: nil)
        }
        try link.client.writeOutbound(Link.bytes(200_000))
        try link.exchange()
        #expect(link.inbound.reads > 1)
        #expect(try link.receivedByClient().readableBytes == 30_000 * link.inbound.reads)
    }

    /// Of P-256, for a test only; encrypted with the passphrase "secret".
    private static let encryptedKey = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgqn5n54HWD9QICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGplRm5di8QwRfchU2+18V4EgZCX
        ANhOKN3m9i0v/1f/wgTJG3OmayA2qJj3Swnh1jeSfIJVBpfZM4hAC9/M28B8wp2d
        UFpDGIbSaJMZnYBuneYmCFWWB8UyM14INyrqhZftglnbV/p4q/5Nmdu2ywBx+2Ff
        p/evlihCBi8uH5pc5+d7S717EVu0r/aqmqpjVpVA9AnaAxlpRCbQ/jUaHHGDOWQ=
        -----END ENCRYPTED PRIVATE KEY-----
        """
}

/// A client of swift-nio-ssl's, and a server of the gateway's.
private final class Link {
    static let versions: [TLSVersion] = [.tlsv12, .tlsv13]

    let loop = EmbeddedEventLoop()
    let client: EmbeddedChannel
    let server: EmbeddedChannel
    let handler: TLSHandler
    let session: TLSServerSession
    let inbound = Inbound()
    /// The most bytes that the server gets at once.
    var fragmentSize = Int.max

    init(
        version: TLSVersion = .tlsv13, protocols: [String] = ["h2"], listener: ListenerTLS? = nil,
        serverName: String = "a.test"
    ) throws {
        let listener = try listener ?? ListenerTLS(TLSParameters(certificates: [Self.certificate("a.test")]))
        session = try listener.makeSession()
        handler = TLSHandler(session, buffers: ReceiveBuffers())
        client = EmbeddedChannel(loop: loop)
        server = EmbeddedChannel(loop: loop)
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        configuration.maximumTLSVersion = version
        configuration.applicationProtocols = protocols
        try server.pipeline.syncOperations.addHandlers(OutputEnds(), handler, inbound)
        try client.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: NIOSSLContext(configuration: configuration), serverHostname: serverName))
        try server.connect(to: SocketAddress(ipAddress: "203.0.113.8", port: 50_000)).wait()
        try client.connect(to: SocketAddress(ipAddress: "203.0.113.7", port: 443)).wait()
    }

    deinit {
        for channel in [server, client] where channel.isActive {
            channel._channelCore.close0(error: ChannelError.eof, mode: .all, promise: nil)
        }
        loop.run()
    }

    static func certificate(_ name: String) throws -> TLSCertificate {
        let key = try P256SigningKey.generate()
        return TLSCertificate(
            chain: try key.challengeCertificate(for: name, digest: SHA256.hash([])), key: try key.privateKeyPEM())
    }

    static func bytes(_ count: Int) -> ByteBuffer {
        ByteBuffer(bytes: (0..<count).map { UInt8(truncatingIfNeeded: $0 ^ $0 >> 8) })
    }

    /// Carries what both sides send until neither sends any more.
    func exchange() throws {
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            loop.run()
            while var bytes = try client.readOutbound(as: ByteBuffer.self) {
                isQuiet = false
                while server.isActive, let part = bytes.readSlice(length: min(bytes.readableBytes, fragmentSize)),
                    part.readableBytes > 0
                { try server.writeInbound(part) }
            }
            loop.run()
            while let bytes = try server.readOutbound(as: ByteBuffer.self) {
                isQuiet = false
                if client.isActive, bytes.readableBytes > 0 { try client.writeInbound(bytes) }
            }
        }
    }

    /// The client's record of that many of ``bytes(_:)``.
    func record(of count: Int) throws -> ByteBuffer {
        try client.writeOutbound(Self.bytes(count))
        return try #require(try client.readOutbound(as: ByteBuffer.self))
    }

    /// Ends the server's connection, as a client that is gone does.
    func breakOff() {
        server._channelCore.close0(error: ChannelError.eof, mode: .all, promise: nil)
        loop.run()
    }

    func shakeHands() throws {
        try exchange()
        #expect(inbound.handshakes.count == 1)
        #expect(server.isActive)
    }

    func hasSucceeded(_ future: EventLoopFuture<Void>) -> Bool {
        var result: Result<Void, any Error>?
        future.assumeIsolated().whenComplete { result = $0 }
        loop.run()
        guard case .success? = result else { return false }
        return true
    }

    func receivedByServer() throws -> ByteBuffer { try Self.received(by: server) }
    func receivedByClient() throws -> ByteBuffer { try Self.received(by: client) }

    private static func received(by channel: EmbeddedChannel) throws -> ByteBuffer {
        var all = ByteBuffer()
        while var bytes = try channel.readInbound(as: ByteBuffer.self) { all.writeBuffer(&bytes) }
        return all
    }
}

/// Records what comes from the handler.
private final class Inbound: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// The protocols of finished handshakes.
    private(set) var handshakes: [String?] = []
    private(set) var errors: [any Error] = []
    private(set) var reads = 0
    private(set) var inputEnds = 0
    var onRead: ((ChannelHandlerContext) -> Void)?

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let name)? = event as? TLSUserEvent { handshakes.append(name) }
        if case .inputClosed? = event as? ChannelEvent { inputEnds += 1 }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        reads += 1
        onRead?(context)
        context.fireChannelRead(data)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { errors.append(error) }
}

/// Closes the channel at a flush, as a socket whose peer is gone does.
private final class BreakingFlush: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer

    func flush(context: ChannelHandlerContext) {
        context.channel._channelCore.close0(error: ChannelError.eof, mode: .all, promise: nil)
    }
}

/// Embedded channels cannot close their output alone.
private final class OutputEnds: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}
