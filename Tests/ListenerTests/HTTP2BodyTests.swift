import HTTP1
import HTTPTypes
import NIOCore
import NIOEmbedded
import Testing

@testable import Listener

@Suite("An HTTP/2 request's body")
struct HTTP2BodyTests {
    @Test("What completes the announced length waits for the stream's end")
    func lastPartWaits() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(try body.take(ByteBuffer(string: "ab"), endStream: false).body == ByteBuffer(string: "ab"))
        #expect(try body.take(ByteBuffer(string: "c"), endStream: false).body == nil)
        let end = try body.take(ByteBuffer(), endStream: true)
        #expect(end.body == ByteBuffer(string: "c"))
        #expect(end.hasEnded)
    }

    @Test("More or less than announced is refused", arguments: [["abcd"], ["abc", "d"], ["ab"], [""]])
    func mismatch(parts: [String]) throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(throws: HTTP1Fault.conflictingFraming) {
            for (index, part) in parts.enumerated() {
                let taken = try body.take(ByteBuffer(string: part), endStream: index == parts.count - 1)
                #expect(!taken.hasEnded)
            }
        }
    }

    @Test("What is more than announced passes on no byte of itself")
    func moreThanAnnounced() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(throws: HTTP1Fault.conflictingFraming) { try body.take(ByteBuffer(string: "abcd"), endStream: false) }
        var later = HTTP2IncomingBody()
        _ = try later.begin(contentLength: 3, endStream: false)
        #expect(try later.take(ByteBuffer(string: "abc"), endStream: false).body == nil)
        #expect(throws: HTTP1Fault.conflictingFraming) { try later.take(ByteBuffer(string: "d"), endStream: false) }
    }

    @Test("A head that ends its stream is a whole request, unless it announces a body")
    func headAlone() throws {
        for length in [nil, 0] {
            var body = HTTP2IncomingBody()
            #expect(body.isAwaitingHead)
            #expect(try body.begin(contentLength: length, endStream: true).hasEnded && body.hasEnded)
            // Nothing is taken behind the end.
            let behind = try body.take(ByteBuffer(string: "a"), endStream: true)
            #expect(behind.body == nil && !behind.hasEnded)
        }
        var body = HTTP2IncomingBody()
        #expect(throws: HTTP1Fault.conflictingFraming) { try body.begin(contentLength: 1, endStream: true) }
    }

    @Test("An empty end is owed by what announced no byte, and by nothing else")
    func emptyEnd() throws {
        var body = HTTP2IncomingBody()
        #expect(!body.owesEmptyEnd)
        _ = try body.begin(contentLength: 2, endStream: false)
        #expect(!body.owesEmptyEnd)
        _ = try body.take(ByteBuffer(string: "ab"), endStream: false)
        #expect(!body.owesEmptyEnd)
        var unannounced = HTTP2IncomingBody()
        _ = try unannounced.begin(contentLength: nil, endStream: false)
        #expect(!unannounced.owesEmptyEnd)
    }

    @Test("A response is held against the length that its head announced")
    func outgoing() {
        func body(_ length: String?) -> HTTP2OutgoingBody {
            var response = HTTPResponse(status: .ok)
            response.headerFields[.contentLength] = length
            var body = HTTP2OutgoingBody()
            body.begin(HTTP2ResponseHead(response, toHead: false))
            return body
        }
        var announced = body("3")
        #expect(announced.take(2) && announced.take(1) && announced.end() && announced.hasEnded)
        var more = body("3")
        #expect(more.take(2) && !more.take(2))
        var less = body("3")
        #expect(less.take(2) && !less.end())
        var open = body(nil)
        #expect(open.take(9) && open.end())
    }

    @Test("Without an announced length everything passes at once")
    func unannounced() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: nil, endStream: false)
        #expect(try body.take(ByteBuffer(string: "ab"), endStream: false).body == ByteBuffer(string: "ab"))
        let end = try body.take(ByteBuffer(string: "c"), endStream: true)
        #expect(end.body == ByteBuffer(string: "c"))
        #expect(end.hasEnded)
    }

    @Test("A length of zero is believed at the end only")
    func zero() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 0, endStream: false)
        #expect(body.owesEmptyEnd)
        #expect(throws: HTTP1Fault.conflictingFraming) { try body.take(ByteBuffer(string: "a"), endStream: true) }
    }
}

@Suite("The watch on HTTP/2 frames")
struct HTTP2FrameWatchTests {
    private static func frame(_ type: UInt8, stream: Int32 = 0, payload: [UInt8] = []) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
        bytes.writeInteger(UInt8(0))
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        return bytes
    }

    @Test("It tells an error's GOAWAY from an orderly one", arguments: [(UInt8(0), false), (UInt8(11), true)])
    func goAway(code: UInt8, failed: Bool) throws {
        let watch = HTTP2FrameWatch()
        let channel = EmbeddedChannel(handler: watch)
        try channel.writeOutbound(
            IOData.byteBuffer(Self.frame(7, payload: [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, code])))
        #expect(watch.connectionHasFailed == failed)
    }

    @Test("A body that looks like a GOAWAY is a body")
    func payload() throws {
        let watch = HTTP2FrameWatch()
        let channel = EmbeddedChannel(handler: watch)
        var (streams, sizes): ([Int32], [Int]) = ([], [])
        watch.onData = { stream, size in
            streams.append(stream)
            sizes.append(size)
        }
        let lookAlike = Self.frame(7, payload: [0, 0, 0, 0, 0, 0, 0, 1])
        // SwiftNIO writes a DATA frame's header and its payload apart.
        try channel.writeOutbound(
            IOData.byteBuffer(
                Self.frame(0, stream: 5, payload: Array(lookAlike.readableBytesView)).getSlice(at: 0, length: 9)
                    ?? ByteBuffer()))
        try channel.writeOutbound(IOData.byteBuffer(lookAlike))
        #expect(streams == [5] && sizes == [17])
        #expect(!watch.connectionHasFailed)
    }
}
