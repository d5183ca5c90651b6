import HTTP1
import HTTPTypes
import NIOCore
import NIOEmbedded
import Pipeline
import Testing

@testable import Listener

/// RFC 9113 by raw bytes.
@Suite("An HTTP/2 connection")
struct HTTP2ConnectionTests {
    private static let get = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
    private static let post = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
    private static let streamClosed: UInt32 = 5

    private static func fields(without name: String, with value: String? = nil) -> [(String, String)] {
        post.compactMap { $0.0 == name ? value.map { (name, $0) } : $0 }
    }

    @Test("A request and its response, in one write of the tick")
    func exchange() throws {
        let wire = try HTTP2Wire { $0.answer(.ok, "hello") }
        try wire.send(wire.opening + wire.head(1, Self.get, end: true) + wire.head(3, Self.get, end: true))
        let sent = try wire.take()
        #expect(sent.filter { $0.type == 1 }.map(\.stream) == [1, 3])
        #expect(sent.filter { $0.type == 0 }.map(\.payload) == [Array("hello".utf8), Array("hello".utf8)])
        #expect(wire.writes == 1)
        #expect(wire.service.streamsOpen == 0)
    }

    @Test(
        "HEADERS and DATA on a half-closed stream are errors of the stream (§5.1)", arguments: [0, 1] as [UInt8],
        [true, false])
    func halfClosed(type: UInt8, together: Bool) throws {
        let wire = try HTTP2Wire()
        let again =
            type == 0
            ? RawFrame.bytes(0, stream: 1, payload: [1]) : ByteBuffer(bytes: wire.head(1, [("x-a", "1")], end: true))
        let opening = wire.opening + wire.head(1, Self.post, end: true)
        if together {
            try wire.send(opening + again.readableBytesView)
        } else {
            try wire.send(opening)
            try wire.send(Array(again.readableBytesView))
        }
        let sent = try wire.take()
        #expect(sent.filter { $0.type == 3 }.map { [UInt32($0.stream), $0.word()] } == [[1, Self.streamClosed]])
        #expect(!sent.contains { $0.type == 7 })
        // The header table is still the client's.
        try wire.send(wire.head(3, Self.get, end: true))
        #expect(wire.service.exchanges.last?.request.head.method == .get)
        #expect(wire.service.streamsOpen == 1)
    }

    @Test("HEADERS and DATA on a closed stream are errors of the connection (§5.1)", arguments: [0, 1] as [UInt8])
    func closed(type: UInt8) throws {
        let wire = try HTTP2Wire { $0.answer() }
        try wire.send(wire.opening + wire.head(1, Self.get, end: true))
        _ = try wire.take()
        try wire.send(
            type == 0
                ? Array(RawFrame.bytes(0, stream: 1, payload: [1]).readableBytesView)
                : wire.head(1, Self.get, end: true))
        let last = try #require(try wire.take().last)
        #expect(last.type == 7 && last.word(at: 4) == Self.streamClosed && last.word() == 1)
        #expect(wire.service.connectionErrors == [.streamClosed])
    }

    @Test("A stream's number below one that was opened is an error of the connection (§5.1.1)")
    func numbers() throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(5, Self.get, end: true) + wire.head(3, Self.get, end: true))
        let last = try #require(try wire.take().last)
        #expect(last.type == 7 && last.word(at: 4) == 1 && last.word() == 5)
    }

    @Test("CONTINUATION frames count once each, however their bytes arrive", arguments: [8, 9], [true, false])
    func continuations(count: Int, together: Bool) throws {
        let wire = try HTTP2Wire { $0.answer() }
        let block = Array(wire.head(1, Self.get, end: true).dropFirst(HTTP2FrameHeader.size))
        var bytes = Array(RawFrame.bytes(1, flags: 1, stream: 1, payload: block).readableBytesView)
        for number in 1...count {
            bytes += RawFrame.bytes(9, flags: number == count ? 4 : 0, stream: 1).readableBytesView
        }
        try wire.send(wire.opening)
        for part in together ? [bytes] : bytes.map({ [$0] }) where wire.service.connectionErrors.isEmpty {
            try wire.send(part)
        }
        _ = try wire.take()
        #expect(wire.service.connectionErrors == (count == 8 ? [] : [.enhanceYourCalm]))
        #expect(wire.service.exchanges.count == (count == 8 ? 1 : 0))
    }

    @Test("What was on its way to a stream that is reset is ignored, as far as its window allowed it")
    func late() throws {
        let wire = try HTTP2Wire { $0.answer(.ok, "no") }
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        #expect(try wire.take().contains { $0.type == 3 && $0.word() == 0 })
        let data = Array(RawFrame.bytes(0, stream: 1, payload: [UInt8](repeating: 1, count: 16_000)).readableBytesView)
        for _ in 0..<4 { try wire.send(data) }
        #expect(try !wire.take().contains { $0.type == 7 })
        try wire.send(data)
        #expect(try wire.take().last?.type == 7)
    }

    @Test(
        "A malformed request is answered, and ends with RST_STREAM PROTOCOL_ERROR (§8.1.1)",
        arguments: [
            post + [("X-A", "1")], post + [(":path", "/b")], post + [("x-a", "1"), (":path", "/b")],
            post + [(":status", "200")], post + [(":unknown", "1")], post + [("connection", "close")],
            post + [("te", "gzip")], post + [("transfer-encoding", "chunked")], post + [("keep-alive", "5")],
            post + [("proxy-connection", "close")], post + [("upgrade", "websocket")], post + [("x a", "1")],
            post + [("x-a", " 1")], post + [("x-a", "1\r\n2")], fields(without: ":path"),
            fields(without: ":path", with: ""), fields(without: ":method"), fields(without: ":scheme"),
        ], [true, false])
    func malformed(fields: [(String, String)], end: Bool) throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, fields, end: end))
        let sent = try wire.take().filter { $0.stream == 1 }
        #expect(sent.map(\.type) == [1, 0, 3])
        #expect(sent.allSatisfy { $0.type == 3 || $0.flags & 1 == 0 })
        #expect(sent.last?.word() == 1)
        #expect(wire.service.exchanges.isEmpty)
        #expect(wire.service.refused.count == 1)
        #expect(wire.service.streamsOpen == 0)
    }

    @Test("So does a body that is not as long as announced", arguments: [[UInt8]("ab".utf8), [UInt8]("abcd".utf8)])
    func wrongLength(body: [UInt8]) throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, Self.post + [("content-length", "3")], end: false))
        try wire.send(Array(RawFrame.bytes(0, flags: 1, stream: 1, payload: body).readableBytesView))
        let exchange = try #require(wire.service.exchanges.first)
        #expect(exchange.faults == [.http(.conflictingFraming)])
        let sent = try wire.take().filter { $0.stream == 1 }
        #expect(sent.map(\.type) == [1, 0, 3] && sent.last?.word() == 1)
    }

    @Test("An error's GOAWAY names the last stream that was taken, also during a drain")
    func goAway() throws {
        for drains in [false, true] {
            let wire = try HTTP2Wire()
            try wire.send(wire.opening + wire.head(1, Self.get, end: true) + wire.head(3, Self.post, end: false))
            if drains { wire.connections.drain {} }
            let first = try wire.take().filter { $0.type == 7 }
            #expect(first.map { $0.word() } == (drains ? [0x7FFF_FFFF] : []))
            // SETTINGS of a wrong length.
            try wire.send(Array(RawFrame.bytes(4, payload: [1]).readableBytesView))
            let last = try #require(try wire.take().last)
            #expect(last.type == 7 && last.word() == 3 && last.word(at: 4) == 6)
        }
    }

    @Test("DATA on a half-closed stream as a first request opens the connection's window once")
    func windows() throws {
        let wire = try HTTP2Wire()
        let data = RawFrame.bytes(0, stream: 1, payload: [UInt8](repeating: 1, count: 16_384))
        try wire.send(wire.opening + wire.head(1, Self.post, end: true) + data.readableBytesView)
        let updates = (wire.first + (try wire.take())).filter { $0.type == 8 && $0.stream == 0 }
        #expect(updates.map { $0.word() } == [(1 << 20) - 65_535])
    }

    @Test("A stream's window opens when its body is used, the connection's when it comes")
    func backPressure() throws {
        let wire = try HTTP2Wire { $0.wantsMore = false }
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        let data = Array(RawFrame.bytes(0, stream: 1, payload: [UInt8](repeating: 1, count: 16_000)).readableBytesView)
        for _ in 0..<4 { try wire.send(data) }
        #expect(try !wire.take().contains { $0.type == 8 && $0.stream == 1 })
        let exchange = try #require(wire.service.exchanges.first)
        #expect(exchange.body.utf8.count == 16_000, "the rest waits")
        exchange.wantsMore = true
        exchange.demand.resume()
        #expect(exchange.body.utf8.count == 64_000)
        #expect(try wire.take().filter { $0.type == 8 && $0.stream == 1 }.map { $0.word() }.reduce(0, +) == 64_000)
    }

    @Test("As many uploads as there may be wait for their services, however small the pieces are that they come in")
    func waitingUploads() throws {
        let wire = try HTTP2Wire { $0.wantsMore = false }
        let streams = stride(from: 1 as Int32, to: 200, by: 2)
        try wire.send(wire.opening + streams.flatMap { wire.head($0, Self.post, end: false) })
        let piece = [UInt8](repeating: 1, count: 640)
        for stream in streams {
            let frame = Array(RawFrame.bytes(0, stream: stream, payload: piece).readableBytesView)
            for _ in 0..<100 { try wire.send(frame) }
        }
        #expect(try !wire.take().contains { $0.type == 7 })
        for exchange in wire.service.exchanges {
            exchange.wantsMore = true
            exchange.demand.resume()
        }
        #expect(wire.service.exchanges.map(\.body.utf8.count) == Array(repeating: 64_000, count: 100))
    }

    @Test("A stream that has gone keeps nothing of what waited for its service")
    func goneStreamIsEmpty() throws {
        let wire = try HTTP2Wire { $0.wantsMore = false }
        try wire.send(wire.opening + wire.head(1, Self.post, end: false))
        let data = Array(RawFrame.bytes(0, stream: 1, payload: [UInt8](repeating: 1, count: 16_000)).readableBytesView)
        for _ in 0..<2 { try wire.send(data) }
        let stream = try #require(wire.connection.streams[1])
        #expect(!stream.input.isEmpty)
        try wire.disconnect()
        #expect(stream.input.isEmpty)
    }

    @Test("Streams are closed with their connection")
    func disconnect() throws {
        let wire = try HTTP2Wire()
        try wire.send(wire.opening + wire.head(1, Self.get, end: true) + wire.head(3, Self.post, end: false))
        #expect(wire.service.streamsOpen == 2)
        try wire.disconnect()
        #expect(wire.service.streamsOpen == 0)
        #expect(wire.service.exchanges.allSatisfy { $0.disconnects == 1 })
        #expect(wire.connections.count == 0)
    }
}
