import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1

/// Parses one head out of `text`, given `step` bytes at a time.
private func parse(
    _ text: String, step: Int = .max, limits: HeadLimits = HeadLimits()
) throws(HTTP1Fault) -> RequestHead? {
    var parser = RequestHeadParser(limits: limits, scheme: "http")
    var buffer = ByteBuffer()
    var rest = text.utf8[...]
    while !rest.isEmpty {
        let part = rest.prefix(min(step, rest.count))
        rest = rest.dropFirst(part.count)
        buffer.writeBytes(part)
        if let head = try parser.next(from: &buffer) { return head }
    }
    return nil
}

/// The fault that `text` is refused for, nil when it is not.
private func fault(_ text: String, step: Int = .max) -> HTTP1Fault? {
    do {
        _ = try parse(text, step: step)
        return nil
    } catch {
        return error
    }
}

struct Refused: CustomTestStringConvertible, Sendable {
    let name: String
    let head: String
    let fault: HTTP1Fault
    var testDescription: String { name }

    init(_ name: String, _ head: String, _ fault: HTTP1Fault) {
        self.name = name
        self.head = head
        self.fault = fault
    }
}

@Suite struct RequestHeadTests {
    @Test(
        "A wish to become a WebSocket is noted as HTTP/2 says it, others are not",
        arguments: [
            ("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket", true),
            ("GET / HTTP/1.1", "connection: keep-alive , uPGRADE\r\nupgrade: h2c, WebSocket", true),
            ("GET / HTTP/1.1", "Connection: keep-alive\r\nConnection: upgrade\r\nUpgrade: websocket", true),
            ("POST / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket", true),
            ("GET / HTTP/1.0", "Connection: Upgrade\r\nUpgrade: websocket", false),
            ("CONNECT h:1 HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket", false),
            ("GET / HTTP/1.1", "Upgrade: websocket", false),
            ("GET / HTTP/1.1", "Connection: Upgrade", false),
            ("GET / HTTP/1.1", "Connection: Upgrades\r\nUpgrade: websocket", false),
            ("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: h2c", false),
            ("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket/13", false),
            ("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websoc\u{212a}et", false),
            ("GET / HTTP/1.1", "Connection: Upgrade\r\nUpgrade: h2c,\u{301} ,WebSocket", true),
        ])
    func upgrade(line: String, fields: String, isNoted: Bool) throws {
        let head = try #require(try parse("\(line)\r\nHost: h:1\r\n\(fields)\r\n\r\n"))
        #expect(head.request.extendedConnectProtocol == (isNoted ? "websocket" : nil))
    }

    @Test("A plain request is understood, however its bytes are cut", arguments: [1, 2, 3, 7, 1000])
    func plain(step: Int) throws {
        let head = try #require(
            try parse(
                "POST /a/b?c=d HTTP/1.1\r\nHost: api.example:8080\r\nX-Thing:  some value \t\r\nContent-Length: 12\r\n\r\n",
                step: step))
        #expect(head.request.method == .post)
        #expect(head.request.path == "/a/b?c=d")
        #expect(head.request.authority == "api.example:8080")
        #expect(head.request.headerFields[values: HTTPField.Name("x-thing")!] == ["some value"])
        #expect(head.framing == .length(12))
        #expect(head.keepAlive)
        #expect(!head.expectsContinue)
    }

    @Test("Requests that follow each other are taken one by one")
    func pipelined() throws {
        var parser = RequestHeadParser(limits: HeadLimits(), scheme: "http")
        var buffer = ByteBuffer(string: "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\nGET")
        #expect(try parser.next(from: &buffer)?.request.path == "/1")
        #expect(try parser.next(from: &buffer)?.request.path == "/2")
        #expect(try parser.next(from: &buffer) == nil)
        #expect(parser.isInHead)
        #expect(buffer.readableBytes == 3)
    }

    static let connections: [(String, Bool)] = [
        ("HTTP/1.1\r\nHost: a\r\n", true),
        ("HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", false),
        ("HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n", false),
        ("HTTP/1.0\r\nHost: a\r\n", false),
        ("HTTP/1.0\r\nHost: a\r\nConnection: Keep-Alive\r\n", true),
        ("HTTP/1.0\r\n", false),
    ]

    @Test("The connection stays open as version and Connection say (RFC 9112 §9.3)", arguments: connections)
    func persistence(tail: String, keepAlive: Bool) throws {
        #expect(try #require(try parse("GET / \(tail)\r\n")).keepAlive == keepAlive)
    }

    static let framings: [(String, BodyFraming)] = [
        ("", .none),
        ("Content-Length: 0\r\n", .none),
        ("Content-Length: 5\r\n", .length(5)),
        ("content-LENGTH:5\r\n", .length(5)),
        ("Content-Length: 00000000000000000000005\r\n", .length(5)),
        ("Transfer-Encoding: chunked\r\n", .chunked),
        ("Transfer-Encoding: CHUNKED\r\n", .chunked),
    ]

    @Test("A body's length is known from one field", arguments: framings)
    func framing(fields: String, framing: BodyFraming) throws {
        #expect(try #require(try parse("POST / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")).framing == framing)
    }

    static let targets: [(String, String, String)] = [
        ("GET http://Api.example/x?y HTTP/1.1\r\nHost: api.example\r\n\r\n", "Api.example", "/x?y"),
        ("GET http://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", "a:80", "/"),
        ("GET https://a/ HTTP/1.1\r\nHost: a:443\r\n\r\n", "a", "/"),
        ("GET http://[::1]/ HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "[::1]", "/"),
        ("GET http://a:/ HTTP/1.1\r\nHost: a:080\r\n\r\n", "a:", "/"),
        ("GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "a", "/"),
        ("GET http://a?q HTTP/1.1\r\nHost: a\r\n\r\n", "a", "/?q"),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "a", "*"),
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", "a:443", "a:443"),
        ("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "[::1]:80", "/"),
    ]

    @Test("The forms of a target come down to authority and path", arguments: targets)
    func target(text: String, authority: String, path: String) throws {
        let head = try #require(try parse(text))
        #expect(head.request.authority == authority)
        #expect(head.request.path == path)
    }

    static let refused: [Refused] = [
        Refused("bare LF after the request line", "GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed),
        Refused("bare LF after a field", "GET / HTTP/1.1\r\nHost: a\nX: y\r\n\r\n", .bareLineFeed),
        Refused("bare LF as the end", "GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
        Refused("bare CR in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", .malformedField),
        Refused("CR CR LF", "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", .malformedField),
        Refused("folded line", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", .obsoleteFolding),
        Refused("folded with a tab", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n", .obsoleteFolding),
        Refused("blank before the first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", .obsoleteFolding),
        Refused("blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", .malformedField),
        Refused("no colon", "GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n", .malformedField),
        Refused("empty name", "GET / HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n", .malformedField),
        Refused("NUL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", .malformedField),
        Refused("NUL in a name", "GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n", .malformedField),
        Refused("DEL in a value", "GET / HTTP/1.1\r\nHost: a\r\nX: \u{7F}\r\n\r\n", .malformedField),
        Refused(
            "control in a long value",
            "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 33))\u{1}\r\n\r\n", .malformedField),
        Refused(
            "both lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            .conflictingFraming),
        Refused(
            "both lengths, the other order",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n", .conflictingFraming
        ),
        Refused(
            "two lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            .malformedContentLength),
        Refused(
            "one length twice", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
            .malformedContentLength),
        Refused(
            "a list of lengths", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", .malformedContentLength),
        Refused("signed length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", .malformedContentLength),
        Refused(
            "hexadecimal length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", .malformedContentLength),
        Refused(
            "overflowing length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551616\r\n\r\n",
            .malformedContentLength),
        Refused("empty length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", .malformedContentLength),
        Refused(
            "coding before chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            .unsupportedTransferCoding),
        Refused(
            "coding after chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n",
            .malformedTransferCoding),
        Refused(
            "chunked twice",
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            .malformedTransferCoding),
        Refused(
            "vertical tab before chunked", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{B}chunked\r\n\r\n",
            .malformedField),
        Refused(
            "chunked in HTTP/1.0", "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
            .conflictingFraming),
        Refused("no Host", "GET / HTTP/1.1\r\n\r\n", .missingHost),
        Refused("two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", .malformedHost),
        Refused("user information in Host", "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", .malformedHost),
        Refused("an IPv6 address with two gaps", "GET / HTTP/1.1\r\nHost: [1::2::3]\r\n\r\n", .malformedHost),
        Refused("an IPv6 address with dots", "GET / HTTP/1.1\r\nHost: [ab..cd::ef98:0]\r\n\r\n", .malformedHost),
        Refused("path in Host", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", .malformedHost),
        Refused("port out of range", "GET / HTTP/1.1\r\nHost: a:65536\r\n\r\n", .malformedHost),
        Refused("target and Host differ", "GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", .malformedHost),
        Refused("another port in the target", "GET http://a:81/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformedHost),
        Refused("another scheme's port", "GET http://a/ HTTP/1.1\r\nHost: a:443\r\n\r\n", .malformedHost),
        Refused("addresses that differ", "GET http://[::1]/ HTTP/1.1\r\nHost: [::1:80]\r\n\r\n", .malformedHost),
        Refused("a fragment", "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("user information in the target", "GET http://a@b/ HTTP/1.1\r\nHost: b\r\n\r\n", .malformedTarget),
        Refused("another scheme", "GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("relative target", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("asterisk with GET", "GET * HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("CONNECT without a port", "CONNECT a HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("two blanks", "GET  / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("blank in the target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("control in the target", "GET /\u{1} HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("byte above ASCII in the target", "GET /é HTTP/1.1\r\nHost: a\r\n\r\n", .malformedTarget),
        Refused("HTTP/0.9", "GET /\r\n\r\n", .malformedRequestLine),
        Refused("lower-case version", "GET / http/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
        Refused("two-digit version", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", .malformedRequestLine),
        Refused("HTTP/2.0", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", .unsupportedVersion),
        Refused("HTTP/1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", .unsupportedVersion),
        Refused("a method that is no token", "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
        Refused("blank before the method", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", .malformedRequestLine),
        Refused(
            "an unknown expectation",
            "POST / HTTP/1.1\r\nHost: a\r\nExpect: y 100-continue\r\nContent-Length: 1\r\n\r\n", .unsupportedExpectation
        ),
    ]

    @Test("What two recipients could read differently is refused", arguments: refused)
    func refuses(_ refused: Refused) {
        #expect(fault(refused.head) == refused.fault)
        #expect(fault(refused.head, step: 1) == refused.fault, "byte by byte")
    }

    static let beyondMending: [(String, HTTP1Fault)] = [
        ("GET /\r\n", .malformedRequestLine),
        ("GET / HTTP/1.1\rHost: a\r\n", .malformedRequestLine),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded\r\nX", .obsoleteFolding),
        ("GET / HTTP/1.1\r\nHost: a\r\n\rGET /: HTTP/1.1\r\n", .malformedField),
        ("POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n", .malformedContentLength),
        ("POST / HTTP/1.1\r\nContent-Length: x\r\nX", .malformedContentLength),
    ]

    @Test("A head that no rest can mend is refused before it is complete", arguments: beyondMending)
    func refusesEarly(head: String, expected: HTTP1Fault) {
        #expect(fault(head) == expected)
    }

    @Test("An incomplete head without fault is waited for", arguments: [1, 5, 1000])
    func waits(step: Int) {
        #expect(fault("GET / HTTP/1.1\r\nHost: a\r\nX-Half", step: step) == nil)
    }

    static let limits: [(String, HTTP1Fault)] = [
        ("GET /\(String(repeating: "a", count: 8200)) HTTP/1.1\r\n", .targetTooLong),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 16 << 10))", .fieldsTooLarge),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n"
                + String(repeating: "X: \(String(repeating: "a", count: 8000))\r\n", count: 5), .fieldsTooLarge
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 100), .tooManyFields),
    ]

    @Test("A head over a limit is refused before it is complete", arguments: limits)
    func overLimit(head: String, expected: HTTP1Fault) {
        #expect(fault(head) == expected)
    }
}
