import HTTP1
import HTTP2
import HTTPTypes
import NIOCore
import NIOEmbedded
import Pipeline
import Testing

@testable import Listener

@Suite("The first bytes of a connection without TLS")
struct HTTP2PrefaceTests {
    private static let settings = ListenerSettings(
        host: "127.0.0.1", port: 0, headTimeout: .seconds(10), http2: HTTP2Limits())
    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    /// A SETTINGS frame without settings.
    private static let frame = "\0\0\0\u{4}\0\0\0\0\0"

    /// - Parameter size: the bytes of an arrival.
    private static func send(_ text: String, inPiecesOf size: Int, to wire: Wire) throws {
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
            try wire.send(String(decoding: bytes[start..<min(start + size, bytes.count)], as: UTF8.self))
        }
    }

    /// A client that speaks HTTP/2 has its settings acknowledged (RFC 9113 §6.5.3).
    private static func acknowledges(_ wire: Wire) throws -> Bool {
        try wire.take().contains("\0\0\0\u{4}\u{1}\0\0\0\0")
    }

    @Test("The preface begins HTTP/2, in as many pieces as it comes in", arguments: [1, 2, 3, 17, 24, 33])
    func preface(size: Int) throws {
        let wire = try Wire(settings: Self.settings)
        try Self.send(Self.preface + Self.frame, inPiecesOf: size, to: wire)
        #expect(try Self.acknowledges(wire))
        #expect(!wire.isClosed && wire.connections.count == 1)
        let pipeline = wire.channel.pipeline.syncOperations
        #expect(throws: ChannelPipelineError.notFound) { try pipeline.handler(type: HTTP1ServerCodec.self) }
        #expect(throws: ChannelPipelineError.notFound) { try pipeline.handler(type: ExchangeHandler.self) }
        wire.advance(.seconds(11))
        #expect(!wire.isClosed)
        try wire.disconnect()
        #expect(wire.connections.count == 0)
    }

    @Test("Requests that begin like the preface are of HTTP/1.1", arguments: [1, 2, 5, 100])
    func similar(size: Int) throws {
        for method in ["P", "PR", "PRI", "PRIX", "PUT", "GET"] {
            let wire = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: Self.settings)
            try Self.send("\(method) /a HTTP/1.1\r\nHost: h\r\n\r\n", inPiecesOf: size, to: wire)
            #expect(try wire.take() == KeepAliveTests.response("x"), "\(method)")
            try wire.send(KeepAliveTests.get)
            #expect(try wire.take() == KeepAliveTests.response("x"), "\(method)")
        }
    }

    @Test("The preface in place of a connection's second request is no change of protocol")
    func second() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: Self.settings)
        try wire.send(KeepAliveTests.get)
        #expect(try wire.take() == KeepAliveTests.response("x"))
        try wire.send(Self.preface + Self.frame)
        #expect(wire.service.refused == [.http(.unsupportedVersion)])
    }

    @Test("Without HTTP/2, the preface is a request of an unsupported version")
    func disabled() throws {
        var settings = Self.settings
        settings.http2 = nil
        let wire = try Wire(settings: settings)
        try wire.send(Self.preface)
        #expect(wire.service.refused == [.http(.unsupportedVersion)])
    }

    @Test("A preface that differs at its end is a request of an unsupported version")
    func altered() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send(String(Self.preface.unicodeScalars.dropLast(6)))
        #expect(wire.service.refused.isEmpty)
        try wire.send("XX\r\n\r\n")
        #expect(wire.service.refused == [.http(.unsupportedVersion)])
    }

    @Test("A preface must be whole in a head's time")
    func timeout() throws {
        let wire = try Wire(settings: Self.settings)
        wire.advance(.seconds(60))
        for piece in ["PR", "I * HTTP/2.0\r\n"] {
            try wire.send(piece)
            wire.advance(.seconds(5))
        }
        wire.advance(.seconds(1))
        #expect(wire.service.refused == [.requestTimeout])
        #expect(try wire.take() == FaultTests.timeout)
    }

    @Test("A connection that has sent nothing counts as idle; one that has sent a part of the preface does not")
    func idle() throws {
        let wire = try Wire(settings: Self.settings)
        wire.advance(.seconds(60))
        try wire.send("PRI")
        #expect(!wire.connections.evictIdlest())
        #expect(!wire.isClosed)

        let silent = try Wire(settings: Self.settings)
        silent.advance(.seconds(60))
        #expect(silent.connections.evictIdlest())
        #expect(silent.isClosed)
    }

    @Test("A connection that completes its preface while the listener stops is told to go")
    func completedWhileDraining() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("PRI")
        var isEmpty = false
        wire.connections.drain { isEmpty = true }
        try wire.send(String((Self.preface + Self.frame).dropFirst(3)))
        // GOAWAY without an error (RFC 9113 §6.8).
        #expect(try wire.take().contains("\0\0\u{8}\u{7}\0"))
        wire.advance(.seconds(11))
        #expect(wire.isClosed && isEmpty)
    }

    @Test("A listener that is stopped waits for the rest of a preface, and closes a silent connection")
    func draining() throws {
        let silent = try Wire(settings: Self.settings)
        silent.connections.drain {}
        #expect(silent.isClosed)

        let wire = try Wire(settings: Self.settings)
        try wire.send("PRI")
        wire.connections.drain {}
        #expect(!wire.isClosed)
        wire.advance(.seconds(11))
        #expect(wire.service.refused == [.requestTimeout])
    }
}
