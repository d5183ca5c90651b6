import Clocks
import Encoding
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("Listener: responses")
struct ResponseTests {
    static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

    @Test("Without a length a response is chunked, part by part, and the connection goes on")
    func chunked() throws {
        let wire = try Wire()
        try wire.send(Self.get)
        let exchange = wire.service.exchanges[0]
        exchange.start(fields: [.contentType: "text/plain"])
        exchange.write("one")
        #expect(try wire.take() == "")
        exchange.flush()
        #expect(
            try wire.take()
                == "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        exchange.write("")
        exchange.flush()
        #expect(try wire.take() == "")
        exchange.write(String(repeating: "x", count: 26))
        exchange.end()
        #expect(try wire.take() == "1a\r\n\(String(repeating: "x", count: 26))\r\n0\r\n\r\n")
        try wire.send(Self.get)
        #expect(wire.service.exchanges.count == 2)
    }

    @Test("A response has the time at which it was given, unless it has one already")
    func dates() throws {
        let wire = try Wire()
        try wire.send(Self.get + Self.get + Self.get)
        let began = WallClock.seconds()
        wire.service.exchanges[0].answer(.ok, "one")
        wire.service.exchanges[1].start()
        wire.service.exchanges[1].end()
        wire.service.exchanges[2].start(fields: [.date: "Sun, 06 Nov 1994 08:49:37 GMT"])
        wire.service.exchanges[2].end()
        try wire.send("GET /a HTTP/1.1\r\n\r\n")
        #expect(try wire.take().contains("HTTP/1.1 400 Bad Request"))
        try #require(wire.dates.count == 4)
        #expect(wire.dates[2] == "Sun, 06 Nov 1994 08:49:37 GMT")
        for number in [0, 1, 3] {
            let second = try #require(HTTPDate.seconds(wire.dates[number]))
            #expect((began...WallClock.seconds()).contains(second))
        }
    }

    @Test(
        "A part too large to be copied goes out as it is, in its frame", arguments: [16 << 10, (16 << 10) + 1, 99_999])
    func largeParts(count: Int) throws {
        let text = String(repeating: "x", count: count)
        let wire = try Wire()
        try wire.send(Self.get + Self.get)
        wire.service.exchanges[0].start()
        wire.service.exchanges[0].write(text)
        wire.service.exchanges[0].write("tail")
        wire.service.exchanges[0].end()
        wire.service.exchanges[1].answer(.ok, text)
        let chunks = "\(String(count, radix: 16))\r\n\(text)\r\n4\r\ntail\r\n0\r\n\r\n"
        #expect(
            try wire.take() == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)"
                + "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n\(text)")
    }

    @Test("Whole responses leave at the end of the tick in which they were given, in their order")
    func endOfTick() throws {
        let wire = try Wire()
        try wire.send(Self.get + Self.get)
        wire.service.exchanges[0].answer(.ok, "one")
        wire.service.exchanges[1].answer(.ok, "two")
        #expect(try wire.takeFlushed() == "")
        wire.run()
        #expect(
            try wire.takeFlushed()
                == ["one", "two"].map { "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n\($0)" }.joined())
    }

    @Test("An HTTP/1.0 client gets no chunks but the end of the connection")
    func untilClose() throws {
        let wire = try Wire()
        try wire.send("GET /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n")
        wire.service.exchanges[0].start()
        wire.service.exchanges[0].write("one")
        wire.service.exchanges[0].write("two")
        wire.service.exchanges[0].end()
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nonetwo")
        #expect(wire.isClosed)
    }

    @Test("The answer to HEAD has the length and not the body, and the connection goes on")
    func head() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "twelve bytes") })
        try wire.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
        try wire.send(Self.get)
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\ntwelve bytes")
        let unsized = try Wire(ScriptedService { $0.respond(.ok, "body") })
        try unsized.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try unsized.take() == "HTTP/1.1 200 OK\r\n\r\n")
        #expect(!unsized.isClosed)
    }

    @Test("204 and 304 have no body, whatever was written", arguments: [204, 304])
    func bodiless(code: Int) throws {
        let wire = try Wire(ScriptedService { $0.respond(.init(code: code), "body") })
        for _ in 0..<2 {
            try wire.send(Self.get)
            let status = HTTPResponse.Status(code: code)
            #expect(try wire.take() == "HTTP/1.1 \(code) \(status.reasonPhrase)\r\n\r\n")
        }
        #expect(!wire.isClosed)
    }

    @Test("204 does not announce a body, even one of no bytes; 304 says how long it would be")
    func bodilessLength() throws {
        let fields: HTTPFields = [.contentLength: "0"]
        let wire = try Wire(
            ScriptedService { $0.respond($0.request.head.path == "/a" ? .noContent : .notModified, fields: fields) })
        try wire.send(Self.get + "GET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(
            try wire.take() == "HTTP/1.1 204 No Content\r\n\r\n"
                + "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n")
    }

    @Test("A body shorter than announced ends the connection, so that nobody takes it for whole")
    func tooShort() throws {
        let wire = try Wire()
        try wire.send(Self.get + Self.get)
        wire.service.exchanges[0].start(fields: [.contentLength: "10"])
        wire.service.exchanges[0].write("four")
        wire.service.exchanges[0].end()
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfour")
        #expect(wire.isClosed)
        #expect(wire.service.exchanges.count == 1)
    }

    @Test("A body longer than announced ends the connection before its excess")
    func tooLong() throws {
        let wire = try Wire()
        try wire.send(Self.get)
        let exchange = wire.service.exchanges[0]
        exchange.start(fields: [.contentLength: "4"])
        exchange.write("four")
        exchange.flush()
        exchange.write("HTTP/1.1 200 OK\r\n\r\n")
        exchange.flush()
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfour")
        #expect(wire.isClosed)
    }

    @Test(
        "A response that is broken off ends the connection without its last chunk, and with what there was of it",
        arguments: [true, false])
    func brokenOff(isFlushed: Bool) throws {
        let wire = try Wire()
        try wire.send(Self.get)
        wire.service.exchanges[0].start()
        wire.service.exchanges[0].write("one")
        if isFlushed { wire.service.exchanges[0].flush() }
        wire.service.exchanges[0].breakOff()
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        #expect(wire.isClosed)
    }

    @Test("What an earlier exchange still says does not touch a later one's response")
    func lateWriter() throws {
        let wire = try Wire()
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx" + Self.get)
        let first = wire.service.exchanges[0]
        first.answer(.ok, "1")
        #expect(wire.service.exchanges.count == 2)
        first.demand.resume()
        first.answer(.ok, "again")
        wire.service.exchanges[1].answer(.ok, "2")
        #expect(
            try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1"
                + "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2")
    }

    // MARK: The encoder

    struct Row: CustomTestStringConvertible {
        var status = HTTPResponse.Status.ok
        var length: Int?
        var connection: String?
        var toHead = false
        var minorVersion = 1
        var keepAlive = true
        var head: String
        /// The wire form of a body of "abcd", with its end.
        var body: String
        var mustClose = false

        var testDescription: String { head.debugDescription }
    }

    static let rows = [
        Row(length: 4, head: "Content-Length: 4\r\n", body: "abcd"),
        Row(
            length: 4, keepAlive: false, head: "Content-Length: 4\r\nConnection: close\r\n", body: "abcd",
            mustClose: true),
        Row(
            length: 4, connection: "close", head: "Content-Length: 4\r\nConnection: close\r\n", body: "abcd",
            mustClose: true),
        Row(length: 4, minorVersion: 0, head: "Content-Length: 4\r\nConnection: keep-alive\r\n", body: "abcd"),
        Row(
            length: 4, minorVersion: 0, keepAlive: false, head: "Content-Length: 4\r\nConnection: close\r\n",
            body: "abcd", mustClose: true),
        Row(head: "Transfer-Encoding: chunked\r\n", body: "4\r\nabcd\r\n0\r\n\r\n"),
        Row(
            keepAlive: false, head: "Transfer-Encoding: chunked\r\nConnection: close\r\n",
            body: "4\r\nabcd\r\n0\r\n\r\n", mustClose: true),
        Row(minorVersion: 0, head: "Connection: close\r\n", body: "abcd", mustClose: true),
        Row(length: 4, toHead: true, head: "Content-Length: 4\r\n", body: ""),
        Row(toHead: true, head: "", body: ""),
        Row(toHead: true, minorVersion: 0, head: "Connection: keep-alive\r\n", body: ""),
        Row(status: .noContent, head: "", body: ""),
        Row(status: .notModified, length: 4, head: "Content-Length: 4\r\n", body: ""),
        Row(status: .notFound, length: 4, head: "Content-Length: 4\r\n", body: "abcd"),
        Row(status: .internalServerError, head: "Transfer-Encoding: chunked\r\n", body: "4\r\nabcd\r\n0\r\n\r\n"),
    ]

    @Test("The framing follows from status, length, method and version", arguments: rows)
    func encoding(row: Row) throws {
        var encoder = HTTP1ResponseEncoder()
        var buffer = ByteBuffer()
        var head = HTTPResponse(status: row.status)
        if let length = row.length { head.headerFields[.contentLength] = String(length) }
        if let connection = row.connection { head.headerFields[.connection] = connection }
        encoder.writeHead(
            head, toHead: row.toHead, minorVersion: row.minorVersion, keepAlive: row.keepAlive, to: &buffer)
        #expect(String(buffer: buffer) == "HTTP/1.1 \(row.status.code) \(row.status.reasonPhrase)\r\n\(row.head)\r\n")
        #expect(encoder.mustClose == row.mustClose)
        buffer.clear()
        switch encoder.part(4) {
        case .none: break
        case .plain: buffer.writeString("abcd")
        case .chunk: buffer.writeString("4\r\nabcd\r\n")
        case .excess: Issue.record("4 bytes are no excess")
        }
        let isWhole = encoder.writeEnd(to: &buffer)
        #expect(isWhole)
        #expect(String(buffer: buffer) == row.body)
    }

    @Test("A sized body is counted: too much is excess, too little is not whole")
    func counting() {
        var encoder = HTTP1ResponseEncoder()
        var buffer = ByteBuffer()
        let head = HTTPResponse(status: .ok, headerFields: [.contentLength: "4"])
        for (parts, isWhole) in [([4], true), ([1, 3], true), ([0, 4, 0], true), ([3], false), ([], false)] {
            encoder.writeHead(head, toHead: false, minorVersion: 1, keepAlive: true, to: &buffer)
            for part in parts {
                guard case .plain = encoder.part(part) else {
                    Issue.record("\(parts)")
                    continue
                }
            }
            let ending = encoder.writeEnd(to: &buffer)
            #expect(ending == isWhole, "\(parts)")
        }
        for parts in [[5], [4, 1], [.max]] {
            encoder.writeHead(head, toHead: false, minorVersion: 1, keepAlive: true, to: &buffer)
            let results = parts.map { encoder.part($0) }
            guard case .excess = results.last else {
                Issue.record("\(parts)")
                continue
            }
        }
    }
}
