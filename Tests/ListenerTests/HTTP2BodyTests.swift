import HTTP1
import HTTP2
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("An HTTP/2 request's body")
struct HTTP2BodyTests {
    @Test("What completes the announced length waits for the stream's end")
    func lastPartWaits() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(try body.take(ByteBuffer(string: "ab")).body == ByteBuffer(string: "ab"))
        #expect(try body.take(ByteBuffer(string: "c")).body == nil)
        let end = try body.end()
        #expect(end.body == ByteBuffer(string: "c"))
        #expect(end.hasEnded)
    }

    @Test("More or less than announced is refused", arguments: [["abcd"], ["abc", "d"], ["ab"], [""]])
    func mismatch(parts: [String]) throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(throws: HTTP1Fault.conflictingFraming) {
            for part in parts {
                let taken = try body.take(ByteBuffer(string: part))
                #expect(!taken.hasEnded)
            }
            _ = try body.end()
        }
    }

    @Test("What is more than announced passes on no byte of itself")
    func moreThanAnnounced() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 3, endStream: false)
        #expect(throws: HTTP1Fault.conflictingFraming) { try body.take(ByteBuffer(string: "abcd")) }
        var later = HTTP2IncomingBody()
        _ = try later.begin(contentLength: 3, endStream: false)
        #expect(try later.take(ByteBuffer(string: "abc")).body == nil)
        #expect(throws: HTTP1Fault.conflictingFraming) { try later.take(ByteBuffer(string: "d")) }
    }

    @Test("A head that ends its stream is a whole request, unless it announces a body")
    func headAlone() throws {
        for length in [nil, 0] {
            var body = HTTP2IncomingBody()
            #expect(try body.begin(contentLength: length, endStream: true).hasEnded && !body.isOpen)
            // Nothing is taken behind the end.
            let (behind, end) = (try body.take(ByteBuffer(string: "a")), try body.end())
            #expect(behind.body == nil && end.body == nil && !end.hasEnded)
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
        _ = try body.take(ByteBuffer(string: "ab"))
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
            body.begin(HTTP2ResponseHead(response, toHead: false, to: HTTP2FieldList()))
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
        #expect(try body.take(ByteBuffer(string: "ab")).body == ByteBuffer(string: "ab"))
        let end = try body.end()
        #expect(end.body == nil && end.hasEnded)
    }

    @Test("A length of zero is believed at the end only")
    func zero() throws {
        var body = HTTP2IncomingBody()
        _ = try body.begin(contentLength: 0, endStream: false)
        #expect(body.owesEmptyEnd)
        #expect(throws: HTTP1Fault.conflictingFraming) { try body.take(ByteBuffer(string: "a")) }
    }
}
