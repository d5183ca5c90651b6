import HTTP1
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("An HTTP/2 client that takes nothing")
struct HTTP2UnreadTests {
    private static let get = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]

    /// Two reads, since what waits in the session might go out with the second one.
    private static func ask(_ wire: HTTP2Wire, _ streams: some Sequence<Int32>) throws {
        for stream in streams { try wire.send(wire.head(stream, get, end: true)) }
        try wire.send(Array(RawFrame.bytes(6, payload: [UInt8](repeating: 0, count: 8)).readableBytesView))
    }

    @Test("Its responses do not begin, even those without a body, and so the limit of streams counts")
    func bodiless() throws {
        let wire = try HTTP2Wire { $0.respond(.noContent) }
        try wire.send(wire.opening)
        _ = try wire.take()
        wire.setWritable(false)
        try Self.ask(wire, stride(from: 1, to: 200, by: 2))
        var sent = try wire.take()
        try Self.ask(wire, [])
        sent += try wire.take()
        #expect(!sent.contains { $0.type == 1 })
        #expect(wire.service.streamsOpen == 100)
        // One more than may be open.
        try Self.ask(wire, [201])
        #expect(try wire.take().contains { $0.type == 3 && $0.stream == 201 && $0.word() == 7 || $0.type == 7 })
    }

    @Test("When it takes more, it gets them all")
    func late() throws {
        let wire = try HTTP2Wire { $0.request.head.path == "/" ? $0.respond(.noContent) : $0.answer(.ok, "hello") }
        try wire.send(wire.opening)
        _ = try wire.take()
        wire.setWritable(false)
        try Self.ask(wire, [1, 3])
        let other = Self.get.map { $0.0 == ":path" ? ($0.0, "/body") : $0 }
        try wire.send(wire.head(5, other, end: true))
        #expect(try !wire.take().contains { $0.type == 1 || $0.type == 0 })
        wire.setWritable(true)
        let sent = try wire.take().filter { $0.stream > 0 }
        #expect(sent.map(\.type) == [1, 1, 1, 0])
        #expect(sent.map(\.stream) == [1, 3, 5, 5])
        #expect(sent.map { $0.flags & 1 } == [1, 1, 0, 1])
        #expect(wire.service.streamsOpen == 0)
    }

    @Test("What it resets meanwhile does not come")
    func reset() throws {
        let wire = try HTTP2Wire { $0.respond(.noContent) }
        try wire.send(wire.opening)
        _ = try wire.take()
        wire.setWritable(false)
        try Self.ask(wire, [1, 3])
        _ = try wire.take()
        try wire.send(Array(RawFrame.bytes(3, stream: 1, payload: [0, 0, 0, 8]).readableBytesView))
        wire.setWritable(true)
        #expect(try wire.take().filter { $0.stream > 0 }.map(\.stream) == [3])
        #expect(wire.service.streamsOpen == 0)
    }
}
