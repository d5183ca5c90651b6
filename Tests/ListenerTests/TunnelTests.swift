import HTTPTypes
import NIOCore
import NIOEmbedded
import Testing

@testable import Listener

@Suite("Listener: a connection becomes a WebSocket")
struct TunnelTests {
    static let upgrade = "GET /a HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    static let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    /// A connection whose one request has become a tunnel.
    func tunnel(behind: String = "") throws -> (Wire, ScriptedExchange) {
        let wire = try Wire()
        try wire.send(Self.upgrade + behind)
        let exchange = try #require(wire.service.exchanges.first)
        exchange.start(.switchingProtocols, fields: [.contentLength: "3"])
        exchange.flush()
        return (wire, exchange)
    }

    @Test("The answer is 101, and then bytes go both ways as they are")
    func bothWays() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        #expect(try wire.take() == Self.head)
        try wire.send("GET / HTTP/9.9 whatever")
        try wire.send("\r\n\r\nmore")
        #expect(exchange.body == "GET / HTTP/9.9 whatever\r\n\r\nmore")
        exchange.write("HTTP is over")
        exchange.flush()
        #expect(try wire.take() == "HTTP is over")
        #expect(wire.service.refused == [])
    }

    @Test("What is pipelined behind the request waits for the 101, and goes on after it in order")
    func pipelined() throws {
        let wire = try Wire()
        try wire.send(Self.upgrade + "GET /b HTTP/1.1\r\n")
        try wire.send("Host: h\r\n\r\n")
        let exchange = try #require(wire.service.exchanges.first)
        #expect(wire.service.paths == ["/a"])
        #expect(exchange.body == "")
        // Held is what came in one read; the rest stays in the kernel.
        #expect(wire.unread == "Host: h\r\n\r\n")
        exchange.start(.switchingProtocols)
        exchange.flush()
        // Whoever answers is not called back from within.
        #expect(exchange.body == "")
        wire.run()
        try wire.send("!")
        #expect(exchange.body == "GET /b HTTP/1.1\r\nHost: h\r\n\r\n!")
        #expect(wire.service.paths == ["/a"])
    }

    @Test("What was pipelined comes before an end that follows in the turn of the 101")
    func pipelinedWithEnd() throws {
        let wire = try Wire()
        try wire.send(Self.upgrade + "frames")
        let exchange = try #require(wire.service.exchanges.first)
        exchange.start(.switchingProtocols)
        exchange.flush()
        wire.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(exchange.body == "frames" && exchange.ends == 2)
        wire.run()
        #expect(exchange.body == "frames" && exchange.ends == 2)
    }

    @Test("A sink that wants no more is not read for")
    func backpressure() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        exchange.wantsMore = false
        try wire.send("one")
        try wire.send("two")
        #expect(exchange.body == "one" && wire.unread == "two")
        exchange.wantsMore = true
        exchange.demand.resume()
        _ = try wire.take()
        #expect(exchange.body == "onetwo")
    }

    @Test("Neither a silent client nor one that takes nothing is timed out")
    func time() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        wire.setWritable(false)
        wire.advance(.hours(1))
        #expect(!wire.isClosed && exchange.faults == [])
    }

    @Test("The client's end is told once, and what is still to be sent is sent before the connection closes")
    func clientEnds() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        // The end of the request itself.
        #expect(exchange.ends == 1)
        wire.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(exchange.ends == 2)
        exchange.write("last words")
        exchange.end()
        #expect(try wire.take() == Self.head + "last words")
        wire.run()
        // Closing the other half too would have closed the whole at once.
        #expect(wire.isClosed && !wire.isHalfClosed)
    }

    @Test("The end of the tunnel closes one half, and a client that goes on is not heard")
    func gatewayEnds() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        exchange.end()
        #expect(wire.isHalfClosed && !wire.isClosed)
        try wire.send(Self.upgrade)
        #expect(wire.service.exchanges.count == 1 && exchange.body == "")
        wire.advance(.seconds(6))
        #expect(wire.isClosed)
    }

    @Test("Where the backend's connection fails, the client gets the bytes that came before")
    func breaksOff() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        exchange.write("last words")
        exchange.breakOff()
        #expect(try wire.take() == Self.head + "last words")
        #expect(wire.isClosed)
    }

    @Test("Where it fails in the turn of its 101, the client gets the 101")
    func breaksOffAtOnce() throws {
        let wire = try Wire()
        try wire.send(Self.upgrade)
        let exchange = try #require(wire.service.exchanges.first)
        exchange.start(.switchingProtocols)
        exchange.write("hello")
        exchange.breakOff()
        #expect(try wire.take() == Self.head + "hello")
        #expect(wire.isClosed)
    }

    @Test("A stop leaves it open; at the end of the grace it is told to close, and has its time for that")
    func stop() throws {
        let (wire, exchange) = try tunnel()
        wire.run()
        wire.connections.drain {}
        #expect(!wire.isClosed && exchange.mustCloses == 0)
        wire.connections.closeAll(farewell: .seconds(3))
        #expect(!wire.isClosed && exchange.mustCloses == 1)
        wire.advance(.seconds(2))
        // Another grace ends meanwhile.
        wire.connections.closeAll(farewell: .seconds(3))
        #expect(!wire.isClosed && exchange.mustCloses == 1)
        wire.advance(.seconds(1))
        #expect(wire.isClosed && exchange.mustCloses == 1)
    }

    @Test("An upgrade that is answered otherwise stays HTTP")
    func declined() throws {
        let wire = try Wire()
        try wire.send(Self.upgrade)
        try #require(wire.service.exchanges.first).answer(.ok, "no", fields: [.connection: "close"])
        try wire.send("GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.service.paths == ["/a"])
        #expect(wire.isClosed)
    }
}
