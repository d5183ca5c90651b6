import HTTP1
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("Listener: malformed requests and deadlines")
struct FaultTests {
    static func refusal(_ reason: String, status: String = "400 Bad Request", toHead: Bool = false) -> String {
        "HTTP/1.1 \(status)\r\nContent-Length: \(reason.utf8.count)\r\nConnection: close\r\n\r\n"
            + (toHead ? "" : reason)
    }

    @Test(
        "Bytes that are no acceptable request are answered and end the connection",
        arguments: [
            ("GET / HTTP/1.1\nHost: h\n\n", HTTP1Fault.bareLineFeed),
            ("GET / HTTP/1.1\r\n\r\n", .missingHost),
            ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", .unsupportedVersion),
            (
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                .conflictingFraming
            ),
            ("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", .malformedContentLength),
            ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n\r\n", .obsoleteFolding),
            ("GET / HTTP/1.1\r\nHost: h\r\nA : b\r\n\r\n", .malformedField),
            ("\u{16}\u{3}\u{1} hello\r\n\r\n", .malformedRequestLine),
        ])
    func malformed(text: String, fault: HTTP1Fault) throws {
        let wire = try Wire()
        try wire.send(text + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try wire.take() == Self.refusal(fault.rawValue))
        #expect(wire.service.refused == [.http(fault)])
        #expect(wire.service.exchanges.isEmpty)
        try wire.send(KeepAliveTests.get)
        #expect(wire.service.exchanges.isEmpty)
        #expect(try wire.take() == "")
        wire.advance(.seconds(6))
        #expect(wire.isClosed)
    }

    @Test("A malformed second request is refused after the first one's answer, not instead of it")
    func malformedPipelined() throws {
        let wire = try Wire()
        try wire.send(KeepAliveTests.get + "GET / HTTP/1.1\r\n\r\n")
        #expect(wire.service.refused.isEmpty)
        wire.service.exchanges[0].answer(.ok, "x")
        #expect(wire.service.exchanges[0].disconnects == 0)
        #expect(try wire.take() == KeepAliveTests.response("x") + Self.refusal("missing-host"))
    }

    @Test(
        "A bad chunk before the answer is refused, by the service, which knows the request",
        arguments: ["POST", "HEAD"])
    func badChunk(method: String) throws {
        let wire = try Wire()
        try wire.send("\(method) /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        try wire.send("zz\r\n")
        let exchange = wire.service.exchanges[0]
        #expect(exchange.body == "ab")
        #expect(exchange.ends == 0)
        #expect(exchange.faults == [.http(.malformedChunk)])
        #expect(exchange.disconnects == 0)
        #expect(try wire.take() == Self.refusal("malformed-chunk", toHead: method == "HEAD"))
        exchange.answer(.ok, "late")
        #expect(try wire.take() == "")
    }

    @Test("A bad chunk amid the answer breaks it off")
    func badChunkAmidAnswer() throws {
        let wire = try Wire()
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n")
        let exchange = wire.service.exchanges[0]
        exchange.start()
        exchange.write("one")
        exchange.flush()
        _ = try wire.take()
        try wire.send("zz\r\n")
        #expect(wire.isClosed)
        #expect(exchange.disconnects == 1)
        #expect(wire.service.refused.isEmpty)
        #expect(try wire.take() == "")
    }

    @Test("Limits of the head are the settings'")
    func limits() throws {
        let settings = ListenerSettings(
            host: "127.0.0.1", port: 0, head: HeadLimits(requestLine: 64, fieldLine: 64, head: 256, fieldCount: 3))
        let cases: [(String, HTTP1Fault)] = [
            ("GET /\(String(repeating: "a", count: 64)) HTTP/1.1\r\nHost: h\r\n\r\n", .targetTooLong),
            ("GET / HTTP/1.1\r\nHost: h\r\nA: \(String(repeating: "a", count: 64))\r\n\r\n", .fieldsTooLarge),
            ("GET / HTTP/1.1\r\nHost: h\r\nA: b\r\nA: b\r\nA: b\r\n\r\n", .tooManyFields),
        ]
        for (text, fault) in cases {
            let wire = try Wire(settings: settings)
            try wire.send(text)
            #expect(wire.service.refused == [.http(fault)])
        }
    }

    // MARK: Deadlines

    static let settings = ListenerSettings(
        host: "127.0.0.1", port: 0, headTimeout: .seconds(10), bodyIdleTimeout: .seconds(30),
        keepAliveTimeout: .seconds(75))

    static let timeout = refusal("request-timeout", status: "408 Request Timeout")

    @Test("A client that never asks, or asks no more, is closed without a word when its keep-alive ends")
    func keepAliveTimeout() throws {
        let silent = try Wire(settings: Self.settings)
        silent.advance(.seconds(74))
        #expect(!silent.isClosed)
        silent.advance(.seconds(2))
        #expect(silent.isClosed)
        #expect(try silent.take() == "")
        #expect(silent.connections.count == 0)

        let served = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: Self.settings)
        served.advance(.seconds(74))
        try served.send(KeepAliveTests.get)
        served.advance(.seconds(74))
        #expect(!served.isClosed)
        served.advance(.seconds(2))
        #expect(served.isClosed)
        #expect(try served.take() == KeepAliveTests.response("x"))
    }

    @Test("That a token is forgotten first does not change when the keep-alive ends", arguments: [1, 2, 75])
    func keepAliveTimeoutAfterToken(seconds: Int64) throws {
        var settings = Self.settings
        settings.keepAliveTimeout = .seconds(seconds)
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: settings)
        for _ in 0..<3 { try wire.send("GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer x\r\n\r\n") }
        wire.advance(.milliseconds(seconds * 1000 - 100))
        #expect(!wire.isClosed)
        wire.advance(.milliseconds(600))
        #expect(wire.isClosed)
    }

    @Test("A token is forgotten when no request follows within two seconds")
    func forgottenToken() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: Self.settings)
        let request = "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: \(String(repeating: "x", count: 99))\r\n\r\n"
        for _ in 0..<3 { try wire.send(request) }
        wire.advance(.seconds(3))
        try wire.send(request)
        let addresses = try wire.service.exchanges.map { exchange in
            try #require(exchange.request.head.headerFields.first { $0.name == .authorization })
                .withUnsafeBytesOfValue { Int(bitPattern: $0.baseAddress) }
        }
        #expect(addresses[1] == addresses[2] && addresses[2] != addresses[3])
    }

    @Test("A head must be whole in its time, however steadily it drips")
    func headTimeout() throws {
        let wire = try Wire(settings: Self.settings)
        wire.advance(.seconds(60))
        for byte in "GET /a HT" {
            try wire.send(String(byte))
            wire.advance(.seconds(1))
        }
        #expect(!wire.isClosed)
        try wire.send("T")
        wire.advance(.seconds(2))
        #expect(try wire.take() == Self.timeout)
        #expect(wire.service.refused == [.requestTimeout])
        wire.advance(.seconds(6))
        #expect(wire.isClosed)
    }

    @Test("Each head has its own time")
    func headTimeoutOfSecond() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") }, settings: Self.settings)
        try wire.send("GET /a HTTP/1.1\r\n")
        wire.advance(.seconds(9))
        try wire.send("Host: h\r\n\r\nGET /b HTTP/1.1\r\n")
        wire.advance(.seconds(9))
        #expect(wire.service.refused.isEmpty)
        wire.advance(.seconds(2))
        #expect(wire.service.paths == ["/a"])
        #expect(wire.service.refused == [.requestTimeout])
    }

    @Test("A head must be whole in its time also while an earlier response waits for its client")
    func headTimeoutBehindUnsent() throws {
        let wire = try Wire(
            ScriptedService { $0.answer(.ok, String(repeating: "x", count: 9000)) }, settings: Self.settings)
        wire.holdWrites(true)
        try wire.send(KeepAliveTests.get)
        wire.run()
        try wire.send("GET /b HTTP/1.1\r\nHo")
        wire.advance(.seconds(9))
        #expect(wire.service.refused.isEmpty && !wire.isClosed)
        wire.advance(.seconds(2))
        #expect(wire.service.refused == [.requestTimeout])
    }

    @Test("A request that waits until the responses before it are taken does not time out", arguments: [0, 20])
    func requestBehindUntaken(sentBefore: Int) throws {
        let wire = try Wire(
            ScriptedService { $0.answer(.ok, String(repeating: "x", count: 9000)) }, settings: Self.settings)
        let request = "GET /a HTTP/1.1\r\nHost: h\r\nAuthorization: \(String(repeating: "x", count: 99))\r\n\r\n"
        wire.holdWrites(true)
        for _ in 0..<3 { try wire.send(request) }
        // The responses block the connection when they are flushed.
        wire.run()
        try wire.send(String(request.prefix(sentBefore)))
        wire.setWritable(false)
        try wire.send(String(request.dropFirst(sentBefore)))
        wire.advance(.seconds(12))
        #expect(wire.service.refused.isEmpty && !wire.isClosed)
        #expect(wire.service.paths.count == 3)
        wire.holdWrites(false)
        wire.setWritable(true)
        #expect(wire.service.paths.count == 4)
    }

    @Test("A body may take long as long as it comes; when it stops the request times out")
    func bodyTimeout() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n")
        for _ in 0..<8 {
            wire.advance(.seconds(29))
            try wire.send("x")
        }
        #expect(wire.service.refused.isEmpty)
        wire.advance(.seconds(31))
        #expect(try wire.take() == Self.timeout)
        #expect(wire.service.exchanges[0].faults == [.requestTimeout])
        #expect(wire.service.exchanges[0].body == "xxxxxxxx")
    }

    @Test("A service may take as long as it likes")
    func slowService() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
        wire.advance(.hours(1))
        #expect(!wire.isClosed)
        wire.service.exchanges[0].start()
        wire.advance(.hours(1))
        wire.service.exchanges[0].write("x")
        wire.service.exchanges[0].end()
        #expect(try wire.take().hasSuffix("1\r\nx\r\n0\r\n\r\n"))
        #expect(!wire.isClosed)
    }

    @Test("A client that is not read from, because the service wants no more, does not time out")
    func heldBackBody() throws {
        let wire = try Wire(settings: Self.settings)
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n")
        wire.service.exchanges[0].wantsMore = false
        try wire.send("abc")
        wire.advance(.seconds(60))
        #expect(wire.service.refused.isEmpty)
        #expect(wire.service.exchanges[0].disconnects == 0)
        // From when it is read from again it has the whole time.
        wire.service.exchanges[0].wantsMore = true
        wire.service.exchanges[0].demand.resume()
        wire.advance(.seconds(29))
        #expect(wire.service.exchanges[0].faults.isEmpty)
        wire.advance(.seconds(2))
        #expect(wire.service.exchanges[0].faults == [.requestTimeout])
    }
}
