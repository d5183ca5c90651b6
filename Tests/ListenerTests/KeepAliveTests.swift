import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("Listener: one request after the other")
struct KeepAliveTests {
    static let get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

    static func response(_ text: String, _ fields: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\(fields)\r\n\(text)"
    }

    @Test("A connection serves one request after the other")
    func keepAlive() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, $0.request.head.path ?? "") })
        for path in ["/a", "/b", "/c"] {
            try wire.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try wire.take() == Self.response(path))
        }
        #expect(!wire.isClosed)
        try wire.disconnect()
        #expect(wire.connections.count == 0)
    }

    @Test("A client that reads no responses has no further request begun, and is read no further")
    func unreadResponses() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        wire.setWritable(false)
        try wire.send(Self.get + Self.get)
        try wire.send(Self.get)
        #expect(try wire.take() == "")
        #expect(wire.unread == Self.get)
        wire.setWritable(true)
        #expect(try wire.take() == Self.response("x") + Self.response("x") + Self.response("x"))
        #expect(wire.service.paths == ["/a", "/a", "/a"])
    }

    @Test("Requests that came together wait once the client keeps up no more, and go on when it does")
    func unreadWithinOneArrival() throws {
        let wire = try Wire()
        try wire.send(Self.get + Self.get)
        let first = wire.service.exchanges[0]
        first.start(fields: [.contentLength: "1"])
        wire.setWritable(false)
        first.write("x")
        first.end()
        #expect(try wire.take() == Self.response("x"))
        #expect(wire.service.paths == ["/a"])
        // It is the slow reader's time that counts meanwhile, and then that of a connection with nothing to do.
        wire.setWritable(true)
        #expect(wire.service.paths == ["/a", "/a"])
        wire.service.exchanges[1].answer(.ok, "y")
        #expect(try wire.take() == Self.response("y"))
        wire.advance(.seconds(74))
        #expect(!wire.isClosed)
        wire.advance(.seconds(2))
        #expect(wire.isClosed)
    }

    @Test("Nothing more is read while requests that have come wait for their turn")
    func unansweredRequests() throws {
        let wire = try Wire()
        try wire.send(Self.get + Self.get + Self.get)
        for number in 0..<2 {
            try wire.send(Self.get)
            wire.service.exchanges[number].answer()
            _ = try wire.take()
            #expect(wire.service.paths.count == number + 2)
            #expect(!wire.isReading)
        }
        wire.service.exchanges[2].answer()
        _ = try wire.take()
        #expect(wire.service.paths.count == 4)
    }

    @Test("A client that takes nothing of the responses it has pipelined for is given up")
    func unreadForever() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        wire.setWritable(false)
        try wire.send(Self.get)
        wire.advance(.seconds(29))
        #expect(!wire.isClosed)
        wire.advance(.seconds(2))
        #expect(wire.isClosed)
    }

    @Test("The service gets the head as it was sent, whose peer it is and what body comes")
    func request() throws {
        let wire = try Wire()
        try wire.send("POST /a?b=c HTTP/1.1\r\nHost: example.com:8080\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc")
        let exchange = try #require(wire.service.exchanges.first)
        #expect(exchange.request.head.method == .post)
        #expect(exchange.request.head.path == "/a?b=c")
        #expect(exchange.request.head.authority == "example.com:8080")
        #expect(exchange.request.head.scheme == "http")
        #expect(exchange.request.peer == "203.0.113.7")
        #expect(exchange.request.body == .length(3))
        #expect(exchange.body == "abc")
        #expect(exchange.ends == 1)
    }

    @Test(
        "A request is the same however its bytes arrive",
        arguments: [
            "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabcdef",
            "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n4;x=y\r\ncdef\r\n0\r\nX: y\r\n\r\n",
        ])
    func arrivals(text: String) throws {
        for size in 1..<text.utf8.count {
            let wire = try Wire()
            var rest = Substring(text)
            while !rest.isEmpty {
                try wire.send(String(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
            #expect(wire.service.paths == ["/a"])
            #expect(wire.service.exchanges.first?.body == "abcdef")
            #expect(wire.service.exchanges.first?.ends == 1)
            wire.service.exchanges.first?.answer(.ok, "x")
            #expect(try wire.take() == Self.response("x"))
            #expect(!wire.isClosed)
        }
    }

    @Test("Pipelined requests are begun and answered in order, though later answers would be ready first")
    func pipelining() throws {
        let wire = try Wire(ScriptedService { if $0.request.head.path != "/a" { $0.answer(.ok, "later") } })
        try wire.send(Self.get + "GET /b HTTP/1.1\r\nHost: h\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.service.paths == ["/a"])
        #expect(try wire.take() == "")
        wire.service.exchanges[0].answer(.ok, "first")
        #expect(wire.service.paths == ["/a", "/b", "/c"])
        #expect(try wire.take() == Self.response("first") + Self.response("later") + Self.response("later"))
    }

    @Test("A pipelined request waits for the end of a streamed answer, and for the end of the body before it")
    func pipeliningAndBodies() throws {
        let wire = try Wire()
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy" + Self.get)
        #expect(wire.service.paths == ["/a"])
        wire.service.exchanges[0].start()
        wire.service.exchanges[0].write("one")
        #expect(wire.service.paths == ["/a"])
        wire.service.exchanges[0].end()
        #expect(wire.service.paths == ["/a", "/a"])
        #expect(wire.service.exchanges[0].body == "xy")
        #expect(wire.service.exchanges[1].request.body == .none)
    }

    @Test("A thousand requests in one arrival are answered without recursion growing with them")
    func longPipeline() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "") })
        try wire.send(String(repeating: Self.get, count: 1000))
        // The others of the event loop have their turns in between.
        #expect(wire.service.exchanges.count == 32)
        wire.run()
        #expect(wire.service.exchanges.count == 1000)
        #expect(try wire.take() == String(repeating: Self.response(""), count: 1000))
        let slow = try Wire()
        try slow.send(String(repeating: Self.get, count: 1000))
        for index in 0..<1000 {
            slow.service.exchanges[index].answer()
            slow.run()
        }
        #expect(try slow.take() == String(repeating: Self.response(""), count: 1000))
    }

    @Test("While a request is answered, those behind it wait in the client's kernel")
    func pipeliningBackpressure() throws {
        let wire = try Wire()
        try wire.send(Self.get)
        // One arrival is taken, so that the client's leaving is noticed.
        #expect(wire.isReading)
        try wire.send(Self.get)
        #expect(!wire.isReading)
        try wire.send("GET /c HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.unread.hasPrefix("GET /c"))
        wire.service.exchanges[0].answer()
        #expect(wire.isReading)
        wire.service.exchanges[1].answer()
        _ = try wire.take()
        #expect(wire.unread == "")
        #expect(wire.service.paths == ["/a", "/a", "/c"])
    }

    @Test(
        "A client that will send no more gets its answer and the end",
        arguments: [
            ("HTTP/1.1", "Connection: close\r\n"), ("HTTP/1.1", "Connection: x, Close\r\n"), ("HTTP/1.0", ""),
            ("HTTP/1.0", "Connection: close\r\n"),
        ])
    func lastRequest(version: String, field: String) throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        try wire.send("GET /a \(version)\r\nHost: h\r\n\(field)\r\n")
        #expect(try wire.take() == Self.response("x", "Connection: close\r\n"))
        #expect(wire.isClosed)
    }

    @Test("An HTTP/1.0 client that asks for it keeps its connection, and is told so")
    func oldKeepAlive() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        for _ in 0..<2 {
            try wire.send("GET /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n")
            #expect(try wire.take() == Self.response("x", "Connection: keep-alive\r\n"))
        }
        #expect(!wire.isClosed)
    }

    @Test("A request behind the last one is not begun")
    func afterTheLast() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        try wire.send("GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.service.paths == ["/a"])
        #expect(try wire.take() == Self.response("x", "Connection: close\r\n"))
        // With unread input a full close would reset the connection, and the answer with it.
        #expect(wire.isHalfClosed)
        #expect(!wire.isClosed)
        wire.advance(.seconds(6))
        #expect(wire.isClosed)
    }

    @Test("The service can end the connection with its answer")
    func closedByService() throws {
        let wire = try Wire(ScriptedService { $0.answer(.badRequest, "x", fields: [.connection: "close"]) })
        try wire.send(Self.get + Self.get)
        #expect(
            try wire.take() == "HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
        #expect(wire.service.paths == ["/a"])
        #expect(wire.isHalfClosed)
    }

    // MARK: Lingering

    /// One whose head is refused while its body is on the way.
    private func refusedUpload() throws -> Wire {
        let wire = try Wire(ScriptedService { $0.answer(.unauthorized, "no") })
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000000\r\n\r\n")
        #expect(try wire.take().hasPrefix("HTTP/1.1 401 "))
        #expect(wire.isHalfClosed)
        return wire
    }

    @Test("A client that sends on slowly after its refusal is read from for five seconds more each time")
    func lingering() throws {
        let wire = try refusedUpload()
        for _ in 0..<6 {
            wire.advance(.milliseconds(4_500))
            try wire.send("x")
        }
        #expect(!wire.isClosed)
        wire.advance(.seconds(4))
        #expect(wire.isClosed, "the thirty seconds are over")
    }

    @Test("One that falls silent is let go after five seconds")
    func silentLingering() throws {
        let wire = try refusedUpload()
        wire.advance(.seconds(4))
        try wire.send("x")
        wire.advance(.milliseconds(4_700))
        #expect(!wire.isClosed)
        wire.advance(.milliseconds(600))
        #expect(wire.isClosed)
    }

    @Test("One that sends without end is closed after 64 MiB")
    func lingeringBytes() throws {
        let wire = try refusedUpload()
        let megabyte = String(repeating: "x", count: 1 << 20)
        for _ in 0..<63 { try wire.send(megabyte) }
        #expect(!wire.isClosed)
        try wire.send(megabyte)
        wire.run()
        #expect(wire.isClosed)
    }

    // MARK: Draining

    @Test("Draining closes an idle connection at once and a busy one after its answer")
    func draining() throws {
        let idle = try Wire()
        var drained = 0
        idle.connections.drain { drained += 1 }
        idle.run()
        #expect(idle.isClosed)
        #expect(drained == 1)

        let busy = try Wire()
        try busy.send(Self.get)
        busy.connections.drain { drained += 1 }
        busy.run()
        #expect(!busy.isClosed)
        #expect(drained == 1)
        busy.service.exchanges[0].answer(.ok, "x")
        busy.run()
        #expect(try busy.take() == Self.response("x", "Connection: close\r\n"))
        #expect(busy.isClosed)
        #expect(drained == 2)
    }

    @Test("At drain a slow client gets what is still on its way to it")
    func drainingUnsent() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        wire.holdWrites(true)
        try wire.send(Self.get)
        wire.holdUnsent(true)
        // Its time begins with the drain, however long it has been idle.
        wire.advance(.seconds(60))
        wire.connections.drain {}
        wire.run()
        #expect(wire.isHalfClosed)
        #expect(!wire.isClosed)
        wire.advance(.seconds(70))
        #expect(!wire.isClosed)
        wire.holdUnsent(false)
        wire.run()
        #expect(wire.isClosed)
    }

    @Test("But not for ever")
    func drainingUntaken() throws {
        let wire = try Wire(ScriptedService { $0.answer(.ok, "x") })
        wire.holdWrites(true)
        try wire.send(Self.get)
        wire.holdUnsent(true)
        wire.connections.drain {}
        wire.advance(.seconds(76))
        #expect(wire.isClosed)
    }

    @Test("Draining without connections is done at once; what outlives the grace is closed")
    func drainingEnds() throws {
        let wire = try Wire()
        try wire.send(Self.get)
        var drained = 0
        wire.connections.drain { drained += 1 }
        wire.connections.closeAll(farewell: .zero)
        wire.run()
        #expect(wire.isClosed)
        #expect(drained == 1)
        #expect(wire.service.exchanges[0].disconnects == 1)
        wire.connections.drain { drained += 1 }
        #expect(drained == 2)
    }
}
