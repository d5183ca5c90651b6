import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

private func parse(_ text: String) throws(HTTP1Fault) -> ResponseHead? {
    var parser = ResponseHeadParser(copiesLines: true)
    var buffer = ByteBuffer(string: text)
    return try parser.next(from: &buffer, toHead: false)
}

private func lines(_ text: String) throws -> EndToEndLines {
    guard case .lines(let lines) = try #require(try parse(text)).fields else { throw NotLines() }
    return lines
}

private struct NotLines: Error {}

@Suite struct EndToEndLinesTests {
    @Test("Lines are passed on as they came, but those for one connection only (RFC 9110 §7.6.1)")
    func copies() throws {
        let lines = try lines(
            "HTTP/1.1 200 OK\r\nServer:  x \r\nConnection: keep-alive\r\nset-cookie: a=1\r\nX-Own: é\r\nKeep-Alive: 5\r\n"
                + "TE: trailers\r\nTrailer: X\r\nUpgrade: h2c\r\nProxy-Connection: close\r\nProxy-Authenticate: Basic\r\n"
                + "X-REQUEST-ID: theirs\r\nHost: a\r\nContent-Length: 007\r\nSet-Cookie: b=2\r\n\r\n")
        #expect(
            String(buffer: lines.bytes) == "Server:  x \r\nset-cookie: a=1\r\nX-Own: é\r\nSet-Cookie: b=2\r\n")
        #expect(lines.contentLength == 7)
        #expect(lines.fields[values: .setCookie] == ["a=1", "b=2"])
        #expect(lines.fields[.contentLength] == "7")
        #expect(lines.fields[.server] == "x")
    }

    @Test("A date among them is seen, whatever the case of its name")
    func dates() throws {
        #expect(try lines("HTTP/1.1 200 OK\r\nA: b\r\ndAte: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n").hasDate)
        #expect(try !lines("HTTP/1.1 200 OK\r\nX-Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n\r\n").hasDate)
    }

    @Test(
        "Only the first, only the last, all or no lines are left out",
        arguments: [
            ("TE: a\r\nA: b\r\n", "A: b\r\n"), ("A: b\r\nTE: a\r\n", "A: b\r\n"), ("TE: a\r\nTE: b\r\n", ""), ("", ""),
            ("A: b\r\nTE: a\r\nC: d\r\n", "A: b\r\nC: d\r\n"), ("Transfer-Encoding: chunked\r\nA: b\r\n", "A: b\r\n"),
        ])
    func edges(fields: String, kept: String) throws {
        #expect(try String(buffer: lines("HTTP/1.1 200 OK\r\n" + fields + "\r\n").bytes) == kept)
    }

    @Test(
        "A head whose Connection names another field comes as a list",
        arguments: [
            "x-own", "close, X-Own", "keep-alive,x", "x\r\nConnection: close", "te",
        ])
    func nominated(options: String) throws {
        let head = try #require(try parse("HTTP/1.1 200 OK\r\nX-Own: 1\r\nConnection: \(options)\r\n\r\n"))
        guard case .list(let fields) = head.fields else { throw NotLines() }
        #expect(fields[.init("X-Own")!] == "1")
    }

    @Test("What is a fault in a list is the same fault in lines", arguments: ResponseHeadTests.refused)
    func refuses(text: String) {
        var parser = ResponseHeadParser()
        var buffer = ByteBuffer(string: text)
        let fault = #expect(throws: HTTP1Fault.self) { _ = try parser.next(from: &buffer, toHead: false) }
        #expect { _ = try parse(text) } throws: { $0 as? HTTP1Fault == fault }
    }

    @Test("Framing and the connection's future are the same in both forms", arguments: ResponseHeadTests.framings)
    func framing(text: String, toHead: Bool, framing: BodyFraming, keepAlive: Bool) throws {
        var parser = ResponseHeadParser(copiesLines: true)
        var buffer = ByteBuffer(string: text)
        let head = try #require(try parser.next(from: &buffer, toHead: toHead))
        #expect(head.framing == framing)
        #expect(head.keepAlive == keepAlive)
    }
}
