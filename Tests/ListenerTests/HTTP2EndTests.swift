import HTTP1
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("The end of HTTP/2 streams and connections")
struct HTTP2EndTests {
    private static let get = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
    private static let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]

    private static func data(_ stream: Int32) -> [UInt8] {
        Array(RawFrame.bytes(0, flags: 1, stream: stream, payload: [1]).readableBytesView)
    }

    @Test("A drain's GOAWAY goes before the PING whose return says that it was seen")
    func drainOrder() throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        _ = try wire.take()
        wire.connections.drain {}
        #expect(try wire.take().map(\.type) == [7, 6])
    }

    @Test("The body of a request that a drain refuses is no error")
    func drainRefuses() throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        _ = try wire.take()
        wire.connections.drain {}
        let ping = try #require(try wire.take().first { $0.type == 6 })
        let back = Array(RawFrame.bytes(6, flags: 1, payload: ping.payload).readableBytesView)
        try wire.send(back + wire.head(3, Self.post, end: false))
        #expect(try wire.take().filter { $0.type == 7 }.map { [$0.word(), $0.word(at: 4)] } == [[1, 0]])
        try wire.send(Self.data(3))
        #expect(try !wire.take().contains { $0.type == 7 })
        #expect(wire.service.connectionErrors.isEmpty)
        #expect(wire.service.exchanges.count == 1 && wire.service.streamsOpen == 1)
    }

    @Test("An upload that was refused is remembered, however many requests end behind it")
    func lateBody() throws {
        let wire = try HTTP2Wire { $0.answer(.ok, "no") }
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        #expect(try wire.take().contains { $0.type == 3 && $0.stream == 1 && $0.word() == 0 })
        for stream in stride(from: Int32(3), to: 303, by: 2) {
            try wire.send(wire.head(stream, Self.get, end: true))
            #expect(try wire.take().filter { $0.stream == stream }.map(\.type) == [1, 0])
        }
        try wire.send(Self.data(1))
        #expect(try !wire.take().contains { $0.type == 7 })
        #expect(wire.service.connectionErrors.isEmpty)
    }

    @Test("A stream that its client has reset meanwhile is not reset once more")
    func bothReset() throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, Self.get, end: true))
        _ = try wire.take()
        let exchange = try #require(wire.service.exchanges.first)
        exchange.start()
        exchange.breakOff()
        try wire.send(Array(RawFrame.bytes(3, stream: 1, payload: [0, 0, 0, 8]).readableBytesView))
        #expect(try !wire.take().contains { $0.stream == 1 })
        #expect(wire.service.streamsOpen == 0)
    }

    @Test("A client that says GOAWAY gets what it has asked for, and is waited for no longer", arguments: [0, 1, 2])
    func clientLeaves(open: Int32) throws {
        let wire = try HTTP2Wire()
        let streams = (0..<open).map { 2 * $0 + 1 }
        try wire.send(wire.opening + streams.flatMap { wire.head($0, Self.get, end: true) })
        _ = try wire.take()
        try wire.send(Array(RawFrame.bytes(7, payload: [UInt8](repeating: 0, count: 8)).readableBytesView))
        #expect(try wire.take().filter { $0.type == 7 }.map { $0.word(at: 4) } == [0])
        for (exchange, stream) in zip(wire.service.exchanges, streams) {
            #expect(wire.connection.phase == .closing)
            exchange.answer(.ok, "hello")
            #expect(try wire.take().map(\.stream) == [stream, stream])
        }
        #expect(wire.connection.phase == .ended)
        #expect(wire.service.connectionErrors.isEmpty)
    }
}
