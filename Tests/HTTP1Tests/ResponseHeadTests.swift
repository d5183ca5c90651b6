import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

private func parse(_ text: String, toHead: Bool = false) throws(HTTP1Fault) -> ResponseHead? {
    var parser = ResponseHeadParser()
    var buffer = ByteBuffer(string: text)
    return try parser.next(from: &buffer, toHead: toHead)
}

@Suite struct ResponseHeadTests {
    static let framings: [(String, Bool, BodyFraming, Bool)] = [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, .length(5), true),
        ("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", false, .length(5), true),
        ("HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", false, .none, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, .chunked, true),
        ("HTTP/1.1 200 OK\r\n\r\n", false, .untilClose, false),
        ("HTTP/1.1 204 No Content\r\n\r\n", false, .none, true),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", false, .none, true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, .none, true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n", false, .length(5), false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", false, .length(5), false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n", false, .length(5), true),
    ]

    @Test("A response's end and its connection's future are known (RFC 9112 §6.3, §9.3)", arguments: framings)
    func framing(text: String, toHead: Bool, framing: BodyFraming, keepAlive: Bool) throws {
        let head = try #require(try parse(text, toHead: toHead))
        #expect(head.framing == framing)
        #expect(head.keepAlive == keepAlive)
    }

    @Test("Fields keep their order and values; Content-Length is among them, Transfer-Encoding is not")
    func fields() throws {
        let head = try #require(
            try parse("HTTP/1.1 201 Made\r\nset-cookie: a=1\r\nX-B: c\r\nSet-Cookie: b=2\r\ncontent-length: 3\r\n\r\n"))
        #expect(head.response.status.code == 201)
        #expect(head.response.headerFields[values: .setCookie] == ["a=1", "b=2"])
        #expect(head.response.headerFields[.contentLength] == "3")
        let chunked = try #require(try parse("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"))
        #expect(chunked.response.headerFields[.transferEncoding] == nil)
    }

    static let refused = [
        "HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n",
        "HTTP/1.1 099 OK\r\n\r\n", "HTTP/1.1 600 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n", "HTTP/1.1  200 OK\r\n\r\n",
        "HTTP/1.1 200OK\r\n\r\n", "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 O\0K\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX : a\r\n\r\n",
    ]

    @Test("A response that can be read two ways is a fault", arguments: refused)
    func refuses(text: String) {
        #expect(throws: HTTP1Fault.self) { try parse(text) }
    }
}
