import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@testable import Listener

@Suite("The input of HTTP/2 streams")
struct HTTP2StreamInputTests {
    @Test("A part of a body gets a buffer of its own size, and keeps its end and padding", arguments: [0, 1, 500])
    func parts(size: Int) throws {
        let channel = EmbeddedChannel(handler: HTTP2StreamInput())
        let read = ByteBuffer(repeating: 7, count: 60_000)
        let slice = try #require(read.getSlice(at: 100, length: size))
        try channel.writeInbound(
            HTTP2Frame(
                streamID: 5, payload: .data(.init(data: .byteBuffer(slice), endStream: true, paddingBytes: 3))))
        let frame = try #require(try channel.readInbound(as: HTTP2Frame.self))
        guard case .data(let part) = frame.payload, case .byteBuffer(let bytes) = part.data else {
            Issue.record("no part of a body: \(frame)")
            return
        }
        #expect(bytes == slice)
        #expect(bytes.storageCapacity <= 512)
        #expect(frame.streamID == 5 && part.endStream && part.paddingBytes == 3)
    }

    @Test(
        "The connection's window is opened again when half of it is used",
        arguments: [(1 << 20, nil), ((1 << 19) + 1, nil), (1 << 19, 1 << 19), (65_535, (1 << 20) - 65_535)])
    func window(left: Int, opened: Int?) throws {
        let channel = EmbeddedChannel(handler: HTTP2StreamInput())
        channel.pipeline.fireUserInboundEventTriggered(
            NIOHTTP2WindowUpdatedEvent(streamID: .rootStream, inboundWindowSize: left, outboundWindowSize: nil))
        let sent = try channel.readOutbound(as: HTTP2Frame.self).flatMap { frame -> Int? in
            guard case .windowUpdate(let size) = frame.payload, frame.streamID == .rootStream else { return nil }
            return size
        }
        #expect(sent == opened)
    }
}
