import HTTPTypes
import NIOCore
import Testing

@testable import HTTP1
@testable import HTTP2
@testable import Listener

extension HTTP2FieldList {
    var names: [String] { contents.entries.map { String(decoding: contents.bytes[$0.name], as: UTF8.self) } }
    var values: [String] { contents.entries.map { String(decoding: contents.bytes[$0.value], as: UTF8.self) } }
    var neverIndexed: [String] { zip(names, contents.entries).filter { $0.1.isNeverIndexed }.map(\.0) }
}

extension HTTP2HeadReader {
    enum Section { case head, trailers }

    /// - Returns: whether the rest is to be unpacked.
    mutating func take(_ name: String, _ value: String, _ section: Section = .head) -> Bool {
        var none = RepeatedField()
        return Array(name.utf8).withUnsafeBytes { name in
            Array(value.utf8).withUnsafeBytes { value in
                section == .head ? take(name, value, repeating: &none) : takeTrailer(name, value)
            }
        }
    }
}

@Suite("An HTTP/2 request's head")
struct HTTP2RequestHeadTests {
    private static let standard = [
        (":method", "GET"), (":scheme", "http"), (":authority", "api.test"), (":path", "/a?b"),
    ]

    private static func read(
        _ headers: [(String, String)], limits: HeadLimits = HeadLimits()
    ) throws(HTTP1Fault) -> HTTP2RequestHead {
        var reader = HTTP2HeadReader(limits: limits, scheme: "https")
        for (name, value) in headers { _ = reader.take(name, value) }
        return try reader.finish()
    }

    @Test("It becomes what HTTP/1.1's would be, with the listener's scheme")
    func becomesRequest() throws {
        let head = try Self.read(Self.standard + [("content-length", "12"), ("x-colour", "blue")])
        #expect(head.request.method == .get)
        #expect(head.request.scheme == "https")
        #expect(head.request.authority == "api.test")
        #expect(head.request.path == "/a?b")
        #expect(head.contentLength == 12)
        #expect(head.request.headerFields.map(\.name.rawName) == ["Content-Length", "x-colour"])
    }

    @Test("The scheme is one of the two, an asterisk stands for the server, and 100-continue is heard in any case")
    func others() throws {
        #expect(try Self.read(Self.standard(without: ":scheme", with: "https")).request.scheme == "https")
        let options = Self.standard(without: ":method", with: "OPTIONS").map { $0.0 == ":path" ? (":path", "*") : $0 }
        #expect(try Self.read(options).request.path == "*")
        #expect(try Self.read(Self.standard + [("expect", "100-Continue")]).expectsContinue)
        #expect(try !Self.read(Self.standard).expectsContinue)
        #expect(try Self.read(Self.standard + [("content-length", "007")]).contentLength == 7)
    }

    @Test("Cookie crumbs are joined where the first one stood")
    func joinsCookies() throws {
        let crumbs = [("cookie", "a=1"), ("x-between", "1"), ("cookie", "b=2"), ("cookie", "c=3")]
        let fields = try Self.read(Self.standard + crumbs).request.headerFields
        #expect(fields.map(\.value) == ["a=1; b=2; c=3", "1"])
    }

    @Test("Host stands in for :authority, and is never forwarded beside it")
    func takesHost() throws {
        let withoutAuthority = Self.standard.filter { $0.0 != ":authority" }
        let head = try Self.read(withoutAuthority + [("host", "Api.test")])
        #expect(head.request.authority == "Api.test")
        #expect(head.request.headerFields.isEmpty)
        #expect(try Self.read(Self.standard + [("host", "API.test")]).request.authority == "api.test")
        #expect(throws: HTTP1Fault.malformedHost) { try Self.read(Self.standard + [("host", "other.test")]) }
        #expect(throws: HTTP1Fault.missingHost) { try Self.read(withoutAuthority) }
    }

    private static func standard(without name: String, with value: String? = nil) -> [(String, String)] {
        standard.compactMap { $0.0 == name ? value.map { (name, $0) } : $0 }
    }

    private static let connect = standard(without: ":method", with: "CONNECT")

    @Test("An extended CONNECT says what it is for (RFC 8441)")
    func extendedConnect() throws {
        let head = try Self.read(Self.connect + [(":protocol", "websocket"), ("sec-websocket-version", "13")])
        #expect(head.request.method == .connect)
        #expect(head.request.extendedConnectProtocol == "websocket")
        #expect(head.request.path == "/a?b")
        #expect(head.request.authority == "api.test")
        #expect(try Self.read(Self.standard).request.extendedConnectProtocol == nil)
    }

    @Test("A backend's 101 is its 200, without what belongs to HTTP/1.1's handshake")
    func switching() {
        let fields: HTTPFields = [
            .secWebSocketAccept: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", .upgrade: "websocket", .connection: "Upgrade",
            .secWebSocketProtocol: "chat", .contentLength: "0",
        ]
        let list = HTTP2FieldList()
        let head = HTTP2ResponseHead(
            switching: HTTPResponse(status: .switchingProtocols, headerFields: fields), to: list)
        #expect(list.names == [":status", "sec-websocket-protocol"])
        #expect(list.values.first == "200")
        #expect(head.hasBody && head.contentLength == nil)
    }

    @Test(
        "What HTTP/1.1 could not carry is refused",
        arguments: [
            (standard(without: ":method"), HTTP1Fault.malformedRequestLine),
            (standard(without: ":scheme"), .malformedRequestLine),
            (standard(without: ":path"), .malformedRequestLine),
            (standard(without: ":method", with: "GET /x HTTP/1.1"), .malformedRequestLine),
            (standard(without: ":method", with: "CONNECT"), .malformedRequestLine),
            (standard(without: ":scheme", with: "ftp"), .malformedRequestLine),
            (standard(without: ":authority", with: "a@b"), .malformedHost),
            (standard(without: ":authority", with: "a/b"), .malformedHost),
            (standard(without: ":authority", with: ""), .malformedHost),
            (standard(without: ":path", with: ""), .malformedTarget),
            (standard(without: ":path", with: "a"), .malformedTarget),
            (standard(without: ":path", with: "*"), .malformedTarget),
            (standard(without: ":path", with: "/a b"), .malformedTarget),
            (standard(without: ":path", with: "/a\r\nx: y"), .malformedTarget),
            (standard(without: ":path", with: "/é"), .malformedTarget),
            (standard + [(":path", "/b")], .malformedField),
            (standard + [("x-a", "1"), (":path", "/b")], .malformedField),
            (standard + [(":status", "200")], .malformedField),
            (standard + [(":authority-of-another", "1")], .malformedField),
            (standard(without: ":scheme", with: "HTTP"), .malformedRequestLine),
            (standard + [("host", "api.test ")], .malformedField),
            (standard + [("host", "a@api.test")], .malformedHost),
            (standard + [("te", "trailers, gzip")], .malformedField),
            (standard + [(":protocol", "websocket")], .malformedRequestLine),
            (connect + [(":protocol", "")], .malformedRequestLine),
            (connect + [(":protocol", "websocket\r\nx: y")], .malformedRequestLine),
            (connect + [(":protocol", "web socket")], .malformedRequestLine),
            (connect.filter { $0.0 != ":path" } + [(":protocol", "websocket")], .malformedRequestLine),
            (connect.filter { $0.0 != ":scheme" } + [(":protocol", "websocket")], .malformedRequestLine),
            (connect.filter { $0.0 != ":authority" } + [(":protocol", "websocket")], .missingHost),
            (standard(without: ":method", with: ""), .malformedRequestLine),
            (standard(without: ":method", with: String(repeating: "A", count: 33)), .malformedRequestLine),
            (standard(without: ":scheme", with: ""), .malformedRequestLine),
            (standard(without: ":path", with: "/a\u{0}"), .malformedTarget),
            (standard(without: ":path", with: "/a\t"), .malformedTarget),
            (standard(without: ":path", with: "/a\u{7f}"), .malformedTarget),
            (standard(without: ":authority", with: "api.test\u{0}"), .malformedHost),
            (standard(without: ":authority", with: "api.test, other.test"), .malformedHost),
            (standard + [(":", "x")], .malformedField), (standard + [(":PATH", "/b")], .malformedField),
            (standard + [(":method", "GET")], .malformedField), (standard + [(":scheme", "http")], .malformedField),
            (standard + [(":authority", "api.test")], .malformedField),
            ([("x-a", "1")] + standard, .malformedField),
            ([("host", "api.test")] + standard, .malformedField),
            (standard + [("host", "")], .malformedHost), (standard + [("host", "api.test:81")], .malformedHost),
            (standard + [("host", "api.test:x")], .malformedHost),
            (standard + [("Host", "api.test")], .malformedField), (standard + [("x\u{e9}", "1")], .malformedField),
            (standard + [("x\u{0}", "1")], .malformedField), (standard + [("x\r\ny", "1")], .malformedField),
            (standard + [("x-a ", "1")], .malformedField), (standard + [(" x-a", "1")], .malformedField),
            (standard + [("x-a", "1 ")], .malformedField), (standard + [("x-a", "\t1")], .malformedField),
            (standard + [("x-a", "1\u{7f}2")], .malformedField), (standard + [("x-a", "1\r2")], .malformedField),
            (standard + [("cookie", "a=1"), ("cookie", " b=2")], .malformedField),
            (standard + [("te", "")], .malformedField), (standard + [("te", "Trailers")], .malformedField),
            (standard + [("content-length", "1, 1")], .malformedContentLength),
            (standard + [("content-length", "0x1")], .malformedContentLength),
            (standard + [("content-length", "9007199254740993")], .malformedContentLength),
            (connect + [(":protocol", "websocket"), (":protocol", "websocket")], .malformedField),
            (connect + [(":protocol", "websocket"), ("content-length", "0")], .malformedContentLength),
            (standard + [("X-A", "1")], .malformedField),
            (standard + [("x a", "1")], .malformedField),
            (standard + [("x:a", "1")], .malformedField),
            (standard + [("", "1")], .malformedField),
            (standard + [("x-a", " 1")], .malformedField),
            (standard + [("x-a", "1\t")], .malformedField),
            (standard + [("x-a", "1\r\n2")], .malformedField),
            (standard + [("x-a", "1\n2")], .malformedField),
            (standard + [("x-a", "1\u{0}2")], .malformedField),
            (standard + [("connection", "close")], .malformedField),
            (standard + [("keep-alive", "5")], .malformedField),
            (standard + [("proxy-connection", "close")], .malformedField),
            (standard + [("transfer-encoding", "chunked")], .malformedField),
            (standard + [("upgrade", "websocket")], .malformedField),
            (standard + [("te", "gzip")], .malformedField),
            (standard + [("host", "api.test"), ("host", "api.test")], .malformedHost),
            (standard + [("content-length", "1"), ("content-length", "1")], .malformedContentLength),
            (standard + [("content-length", "+1")], .malformedContentLength),
            (standard + [("content-length", "")], .malformedContentLength),
            (standard + [("expect", "202-accepted")], .unsupportedExpectation),
        ] as [([(String, String)], HTTP1Fault)])
    func refuses(headers: [(String, String)], fault: HTTP1Fault) {
        #expect(throws: fault) { try Self.read(headers) }
    }

    @Test(
        "Trailers are fields, as a head's are",
        arguments: [
            ([("x-a", "1"), ("expires", "")], true), ([(":path", "/")], false), ([(":status", "200")], false),
            ([("X-A", "1")], false), ([("x a", "1")], false), ([("x-a", "1\r\nx: y")], false), ([("", "1")], false),
            ([("x-a", "1"), (":method", "GET")], false), ([(":x", "1")], false), ([("x-a", " 1")], false),
            ([("x-a", "1\u{0}")], false), ([("connection", "close")], false), ([("keep-alive", "5")], false),
            ([("proxy-connection", "close")], false), ([("transfer-encoding", "chunked")], false),
            ([("upgrade", "websocket")], false), ([("te", "gzip")], false), ([("te", "trailers")], true),
            ([("content-length", "5")], true), ([("host", "other.test")], true), ([], true),
        ] as [([(String, String)], Bool)])
    func trailers(fields: [(String, String)], isAccepted: Bool) {
        var reader = HTTP2HeadReader(limits: HeadLimits(), scheme: "https")
        for (name, value) in fields { _ = reader.take(name, value, .trailers) }
        let check = { [reader] () throws(HTTP1Fault) in try reader.finishTrailers() }
        if isAccepted {
            #expect(throws: Never.self) { try check() }
        } else {
            #expect(throws: HTTP1Fault.malformedField) { try check() }
        }
    }

    @Test("Its size is counted as HTTP/1.1 would")
    func limits() throws {
        let limits = HeadLimits(requestLine: 30, fieldLine: 40, head: 160, fieldCount: 3)
        let fields = (1...3).map { ("x-\($0)", "1") }
        #expect(throws: Never.self) { try Self.read(Self.standard + fields, limits: limits) }
        #expect(throws: HTTP1Fault.tooManyFields) {
            try Self.read(Self.standard + fields + [("x-4", "1")], limits: limits)
        }
        #expect(throws: HTTP1Fault.fieldsTooLarge) {
            try Self.read(Self.standard + [("x-1", String(repeating: "1", count: 40))], limits: limits)
        }
        #expect(throws: HTTP1Fault.fieldsTooLarge) {
            try Self.read(Self.standard + fields.map { ($0.0, String(repeating: "1", count: 30)) }, limits: limits)
        }
        #expect(throws: HTTP1Fault.targetTooLong) {
            // `GET /a… HTTP/1.1` and its two blanks: 3 + 17 + 10 are as many as may be.
            _ = try Self.read(
                Self.standard(without: ":path", with: "/" + String(repeating: "a", count: 16)), limits: limits)
            let path = "/" + String(repeating: "a", count: 17)
            _ = try Self.read(Self.standard(without: ":path", with: path), limits: limits)
        }
    }

    @Test("A list that unpacks to much more than a head may have is not unpacked to its end")
    func bomb() {
        let limits = HeadLimits(fieldLine: 100, head: 200)
        for section in [HTTP2HeadReader.Section.head, .trailers] {
            var reader = HTTP2HeadReader(limits: limits, scheme: "https")
            var count = 0
            while reader.take("x-bomb", String(repeating: "b", count: 90), section) { count += 1 }
            #expect(count == 8)
            #expect(throws: HTTP1Fault.fieldsTooLarge) { try reader.finishTrailers() }
        }
    }

    @Test("An Authorization that comes again is the same field")
    func repeatsAuthorization() throws {
        var repeated = RepeatedField()
        let name = Array("authorization".utf8)
        for token in ["Bearer a", "Bearer a", "Bearer a", "Bearer b", "Bearer a"] {
            var reader = HTTP2HeadReader(limits: HeadLimits(), scheme: "https")
            for (name, value) in Self.standard { _ = reader.take(name, value) }
            _ = name.withUnsafeBytes { name in
                Array(token.utf8).withUnsafeBytes { reader.take(name, $0, repeating: &repeated) }
            }
            #expect(try reader.finish().request.headerFields[.authorization] == token)
        }
    }

    @Test("Lines that are passed on become fields, and the ones that differ each time stay out of the table")
    func lines() {
        let list = HTTP2FieldList()
        let lines = EndToEndLines(
            bytes: ByteBuffer(string: "Content-Type: text/plain\r\nSet-Cookie:a=b: c \r\nX-Empty:\r\n"),
            contentLength: 7, hasDate: false)
        let head = HTTP2ResponseHead(.ok, lines, requestID: "id", toHead: false, to: list)
        #expect(
            list.names == [":status", "content-length", "Content-Type", "Set-Cookie", "X-Empty", "x-request-id"])
        #expect(list.values == ["200", "7", "text/plain", "a=b: c", "", "id"])
        #expect(list.neverIndexed == ["Set-Cookie", "x-request-id"])
        #expect(head.hasBody && head.contentLength == 7)
        let without = HTTP2ResponseHead(.noContent, lines, requestID: "id", toHead: false, to: list)
        #expect(!list.names.contains("content-length") && !without.hasBody)
    }
}
