import Encoding
import HTTPTypes
import NIOCore
import Testing

@testable import Listener

@Suite("Listener: request bodies")
struct RequestBodyTests {
    static let post = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n"
    static let proceed = "HTTP/1.1 100 Continue\r\n\r\n"

    // MARK: 100-continue

    @Test("A client that waits for it is told to continue, once")
    func proceeds() throws {
        let wire = try Wire()
        try wire.send(Self.post + "Expect: 100-continue\r\n\r\n")
        #expect(try wire.take() == Self.proceed)
        try wire.send("ab")
        try wire.send("cd")
        #expect(try wire.take() == "")
        wire.service.exchanges[0].answer(.ok, "x")
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")
        #expect(!wire.isClosed)
    }

    @Test("A service that has answered the head does not get the body, and the client is not told to send it")
    func refusedBeforeBody() throws {
        let wire = try Wire(ScriptedService { $0.answer(.unauthorized, "no") })
        try wire.send(Self.post + "Expect: 100-continue\r\n\r\n")
        #expect(
            try wire.take() == "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        #expect(wire.isHalfClosed)
        try wire.send("abcdGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.service.paths == ["/a"])
        #expect(wire.service.exchanges[0].body == "")
        #expect(try wire.take() == "")
    }

    @Test("Whoever has sent the body, or has none, is not told to send it")
    func needless() throws {
        let wire = try Wire()
        try wire.send(Self.post + "Expect: 100-continue\r\n\r\nab")
        #expect(try wire.take() == "")
        #expect(wire.service.exchanges[0].body == "ab")
        let bodiless = try Wire()
        try bodiless.send("GET /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n\r\n")
        #expect(try bodiless.take() == "")
        let old = try Wire()
        try old.send("POST /a HTTP/1.0\r\nHost: h\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        #expect(try old.take() == "")
    }

    // MARK: Early answers

    @Test("An answer before the body is read closes the connection, after the client has had time to see it")
    func earlyAnswer() throws {
        let wire = try Wire()
        try wire.send(Self.post + "\r\nab")
        wire.service.exchanges[0].answer(.contentTooLarge, "no")
        #expect(
            try wire.take()
                == "HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        #expect(wire.isHalfClosed)
        #expect(!wire.isClosed)
        try wire.send("cdGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(wire.service.paths == ["/a"])
        wire.advance(.milliseconds(4500))
        #expect(!wire.isClosed)
        wire.advance(.seconds(1))
        #expect(wire.isClosed)
        #expect(wire.service.exchanges[0].disconnects == 0)
    }

    @Test("An answer that begins while the body still comes announces the end, and the body still arrives")
    func earlyHead() throws {
        let wire = try Wire()
        try wire.send(Self.post + "\r\nab")
        let exchange = wire.service.exchanges[0]
        exchange.start(fields: [.contentLength: "1"])
        try wire.send("cd")
        #expect(exchange.body == "abcd")
        #expect(exchange.ends == 1)
        exchange.write("x")
        exchange.end()
        #expect(try wire.take() == "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx")
        #expect(wire.isClosed)
    }

    // MARK: Backpressure

    @Test("A sink that wants no more stops the reading until it asks again")
    func backpressure() throws {
        let wire = try Wire()
        try wire.send(Self.post + "\r\na")
        let exchange = wire.service.exchanges[0]
        #expect(wire.isReading)
        exchange.wantsMore = false
        try wire.send("b")
        #expect(!wire.isReading)
        try wire.send("c")
        try wire.send("d")
        #expect(exchange.body == "ab")
        exchange.demand.resume()
        #expect(wire.isReading)
        exchange.demand.resume()
        _ = try wire.take()
        // One arrival, then the sink wants no more again.
        #expect(exchange.body == "abc")
        exchange.wantsMore = true
        exchange.demand.resume()
        _ = try wire.take()
        #expect(exchange.body == "abcd")
        #expect(exchange.ends == 1)
        #expect(wire.isReading)
    }

    @Test("Reading goes on when the answer comes while the sink wanted no more")
    func backpressureEndsWithAnswer() throws {
        let wire = try Wire()
        try wire.send(Self.post + "\r\n")
        let exchange = wire.service.exchanges[0]
        exchange.wantsMore = false
        try wire.send("abcd")
        #expect(!wire.isReading)
        exchange.answer(.ok, "x")
        #expect(wire.isReading)
        try wire.send(Self.post + "\r\nabcd")
        #expect(wire.service.exchanges.count == 2)
    }

    @Test("The sink hears whether the client keeps up, and nobody else's does")
    func writability() throws {
        let wire = try Wire()
        wire.setWritable(false)
        wire.setWritable(true)
        try wire.send(KeepAliveTests.get)
        let exchange = wire.service.exchanges[0]
        exchange.start()
        #expect(exchange.write("x") == true)
        wire.setWritable(false)
        #expect(exchange.write("x") == false)
        wire.setWritable(true)
        exchange.end()
        wire.setWritable(false)
        #expect(exchange.writability == [false, true])
    }

    @Test("A later part of the same arrival can find room again")
    func roomAgain() throws {
        let wire = try Wire(ScriptedService { $0.takes = { $0 != "a" } })
        try wire.send("POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n")
        #expect(wire.service.exchanges[0].body == "ab")
        #expect(wire.isReading)
    }

    // MARK: Disconnects

    @Test("The sink hears once that the client has gone, before or amid the answer")
    func disconnect() throws {
        for begins in [false, true] {
            let wire = try Wire()
            try wire.send(Self.post + "\r\na")
            let exchange = wire.service.exchanges[0]
            if begins { exchange.start() }
            try wire.disconnect()
            #expect(exchange.disconnects == 1)
            #expect(exchange.ends == 0)
            // Too late, and harmless.
            exchange.answer()
            exchange.write("x")
            exchange.end()
            exchange.demand.resume()
            #expect(exchange.disconnects == 1)
        }
    }

    @Test("A client that goes after its answer, or before it asked, disconnects nobody")
    func quietEnd() throws {
        let wire = try Wire()
        try wire.send(KeepAliveTests.get)
        wire.service.exchanges[0].answer()
        try wire.disconnect()
        #expect(wire.service.exchanges[0].disconnects == 0)
        let idle = try Wire()
        try idle.send("GET /")
        try idle.disconnect()
        #expect(idle.service.exchanges.isEmpty)
        #expect(idle.connections.count == 0)
    }

    @Test("A pipelined request behind one whose client went is never begun")
    func disconnectWithPipeline() throws {
        let wire = try Wire()
        try wire.send(KeepAliveTests.get + KeepAliveTests.get)
        try wire.disconnect()
        wire.service.exchanges[0].answer()
        #expect(wire.service.exchanges.count == 1)
    }
}
