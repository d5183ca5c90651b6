import Dispatch
import HTTP1
import HTTPTypes
import NIOCore
import Pipeline
import Testing

@testable import HTTPClient
@testable import Upstream

@Suite("Upstream: exchanges on a real socket", .timeLimit(.minutes(10)))
struct ExchangeTests {
    static let lost = UpstreamError.connectionLost

    @Test("One connection serves one exchange after the other")
    func reuse() async throws {
        try await Client.with([[.ok, .ok, .ok]]) { client async throws in
            for _ in 0..<3 { #expect(try await client.exchange().plain == .response(200, "ok")) }
            #expect(try await client.events == [.opened, .reused, .reused])
            #expect(try await client.backend.accepted == 1)
        }
    }

    @Test("An exchange that has ended holds no buffer: the next response is received in the same one")
    func buffer() async throws {
        try await Client.with([[.ok, .ok]]) { client async throws in
            for name in ["first", "second"] {
                let outcome = try await client.begin(name: name).get()
                #expect(outcome.body == "ok")
            }
            let first = try await client.on("first") { _, receiver in receiver.bodyAddress }
            let second = try await client.on("second") { _, receiver in receiver.bodyAddress }
            #expect(first != nil)
            #expect(first == second)
        }
    }

    @Test("Exchanges at the same time have a connection each, and the last one back is used first")
    func parallel() async throws {
        let slow = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow", await: "never")
        try await Client.with([[slow], [.ok, .ok]]) { client async throws in
            let first = try await client.begin(name: "slow")
            #expect(try await client.exchange().body == "ok")
            #expect(try await client.exchange().body == "ok")
            #expect(try await client.events == [.opened, .opened, .reused])
            try await client.backend.push("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
            #expect(try await first.get().body == "slow")
        }
    }

    // MARK: Framing

    struct Row: Sendable, CustomTestStringConvertible {
        var method = HTTPRequest.Method.get
        var response: String
        var status = 200
        var body = ""
        var closes = false
        var isReused = true

        var testDescription: String { "\(method) \(response.debugDescription)" }
    }

    static let framings = [
        Row(response: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", body: "hello"),
        Row(response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Row(
            response:
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n",
            body: "hello"),
        Row(response: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        Row(response: "HTTP/1.1 204 No Content\r\n\r\n", status: 204),
        Row(response: "HTTP/1.1 304 Not Modified\r\n\r\n", status: 304),
        Row(method: .head, response: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Row(response: "HTTP/1.1 404\r\nContent-Length: 2\r\n\r\nno", status: 404, body: "no"),
        Row(
            response:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
            body: "x"),
        Row(response: "HTTP/1.1 200 OK\r\n\r\nuntil the end", body: "until the end", closes: true, isReused: false),
        Row(
            response: "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", body: "ok", isReused: false
        ),
        Row(response: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", body: "ok", isReused: false),
        Row(response: "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", body: "ok"),
        // Bytes behind it: it answers no request, and whoever sent it is not trusted further.
        Row(response: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", body: "ok", isReused: false),
        Row(response: "HTTP/1.1 204 No Content\r\n\r\nbody", status: 204, isReused: false),
    ]

    @Test("A response ends where its framing says, in whatever pieces it comes", arguments: framings)
    func framing(row: Row) async throws {
        for isBytewise in [false, true] {
            let step = Step(send: row.response, isBytewise: isBytewise, closes: row.closes)
            try await Client.with([row.isReused ? [step, .ok] : [step], [.ok]]) { client async throws in
                let outcome = try await client.exchange(row.method)
                #expect(outcome.plain == .response(row.status, row.body))
                // Bytewise, what is behind the response can come when the connection is idle already.
                if isBytewise, !row.isReused { try await client.backend.awaitClose() }
                #expect(try await client.exchange().plain == .response(200, "ok"))
                #expect(try await client.events == [.opened, row.isReused ? .reused : .opened])
            }
        }
    }

    @Test(
        "A response that can be read two ways is a fault, and its connection is closed",
        arguments: [
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
                HTTP1Fault.conflictingFraming
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok", .malformedContentLength),
            ("HTTP/1.1 200 OK\nContent-Length: 2\n\nok", .bareLineFeed),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n", .malformedStatusLine),
            ("HTTP/2 200\r\n\r\n", .malformedStatusLine), ("220 mail.example.com\r\n\r\n", .malformedStatusLine),
            ("HTTP/1.1 200 OK\r\nA : b\r\n\r\n", .malformedField),
        ])
    func protocolFaults(response: String, fault: HTTP1Fault) async throws {
        try await Client.with([[.answer(response)], [.ok]]) { client async throws in
            #expect(try await client.exchange() == .fault(.protocolFault(fault.rawValue)))
            try await client.backend.awaitClose()
            #expect(try await client.exchange().body == "ok")
        }
    }

    @Test("A bad chunk breaks a response off that has begun")
    func badChunk() async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        try await Client.with([[.answer(head + "2\r\nok\r\nzz\r\n")]]) { client async throws in
            let outcome = try await client.exchange()
            #expect(outcome.plain == Outcome(status: 200, body: "ok", fault: .protocolFault("malformed-chunk")))
        }
    }

    @Test(
        "A response that ends too early is lost, and is not taken for whole",
        arguments: [
            ("", nil, ""), ("HTTP/1.1 200", nil, ""), ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", nil, ""),
            ("HTTP/1.1 100 Continue\r\n\r\n", nil, ""),
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", 200, "half"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", 200, "half"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n", 200, "half"),
        ] as [(String, Int?, String)])
    func truncated(response: String, status: Int?, body: String) async throws {
        try await Client.with([[.close(response)], [.ok]]) { client async throws in
            let outcome = try await client.exchange()
            #expect(outcome.plain == Outcome(status: status, body: body, fault: Self.lost))
            // A new connection that is lost is not tried again.
            #expect(try await client.events == [.opened])
        }
    }

    // MARK: Time-outs and refusals

    @Test("A backend that is down is a fault at once")
    func refused() async throws {
        let silent = try #require(SilentPort())
        try await Client.with([], url: silent.url) { client async throws in
            let fault = try await client.exchange().fault
            guard case .cannotConnect = fault else {
                Issue.record("\(String(describing: fault))")
                return
            }
        }
        withExtendedLifetime(silent) {}
    }

    @Test("A backend that stays silent is given up, and its connection closed")
    func silent() async throws {
        try await Client.with([[]], settings: { $0.timeouts.firstByte = .milliseconds(50) }) { client async throws in
            #expect(try await client.exchange() == .fault(.firstByteTimeout))
            try await client.backend.awaitClose()
        }
    }

    @Test("A response that stops in the middle is given up")
    func stalled() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        try await Client.with([[half]], settings: { $0.timeouts.idle = .milliseconds(50) }) { client async throws in
            let outcome = try await client.exchange()
            #expect(outcome.plain == Outcome(status: 200, body: "half", fault: .idleTimeout))
            try await client.backend.awaitClose()
        }
    }

    // MARK: Retries

    @Test(
        "A kept connection that dies before any answer is replaced once, for what can be repeated",
        arguments: [HTTPRequest.Method.get, .head, .options, .delete, .put])
    func retried(method: HTTPRequest.Method) async throws {
        let head = Step.answer("HTTP/1.1 204 No Content\r\n\r\n")
        try await Client.with([[.ok, .close()], [head]]) { client async throws in
            _ = try await client.exchange()
            #expect(try await client.exchange(method).plain == .response(204, ""))
            #expect(try await client.events == [.opened, .reused, .retried, .opened])
        }
    }

    @Test("What can't be repeated is not: its backend may have acted on it")
    func notRetried() async throws {
        for (method, framing, body) in [
            (HTTPRequest.Method.post, BodyFraming.none, nil), (.patch, .none, nil), (.post, .length(2), "xy"),
            (.put, .length(2), "xy"),
        ] as [(HTTPRequest.Method, BodyFraming, String?)] {
            try await Client.with([[.ok, .close()], [.ok]]) { client async throws in
                _ = try await client.exchange()
                #expect(try await client.exchange(method, framing: framing, body: body) == .fault(Self.lost))
                #expect(try await client.events == [.opened, .reused])
                #expect(try await client.backend.accepted == 1)
            }
        }
    }

    @Test("A second loss is not tried again, nor one after the first byte of an answer")
    func retriedOnce() async throws {
        try await Client.with([[.ok, .close()], [.close()], [.ok]]) { client async throws in
            _ = try await client.exchange()
            #expect(try await client.exchange() == .fault(Self.lost))
            #expect(try await client.events == [.opened, .reused, .retried, .opened])
        }
        try await Client.with([[.ok, .close("H")], [.ok]]) { client async throws in
            _ = try await client.exchange()
            #expect(try await client.exchange() == .fault(Self.lost))
            #expect(try await client.events == [.opened, .reused])
        }
    }

    @Test("What can't be repeated is sent on no connection that the backend has closed meanwhile")
    func closedWhileIdle() async throws {
        let last = Step.close("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await Client.with([[last], [.ok]]) { client async throws in
            _ = try await client.exchange()
            try await client.backend.awaitClose()
            #expect(try await client.exchange(.post).plain == .response(200, "ok"))
            #expect(try await client.events == [.opened, .opened])
        }
    }

    /// Blocks the loop, so that it hears of nothing before all has come.
    private static func awaitPush(of text: String, by backend: Backend) throws {
        let arrived = DispatchSemaphore(value: 0)
        Task {
            try await backend.pushing(text).get()
            arrived.signal()
        }
        guard arrived.wait(timeout: .now() + 50) == .success else { throw TooLong() }
    }

    @Test("An upload whose kept connection is replaced by another kept one goes on")
    func waitingUpload() async throws {
        let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        let upload = Step.answer(ok, await: "and the end!")
        try await Client.with([[.answer("")], [.ok, upload]]) { client async throws in
            let first = try await client.begin(name: "first")
            #expect(try await client.exchange().body == "ok")
            try await client.backend.push(ok)
            #expect(try await first.get().body == "ok")
            let promise = client.eventLoop.makePromise(of: Outcome.self).bounded()
            let backend = client.backend
            try await client.onLoop { parts in
                try Self.awaitPush(of: "nobody asked", by: backend)
                let receiver = Receiver(promise)
                let request = try ForwardedRequest.make(.post, "/", framing: .length(22), gate: parts.gate)
                let exchange = parts.pool.send(request, to: receiver)
                receiver.onWantsBody = {
                    _ = exchange.send(body: ByteBuffer(string: "and the end!"))
                    exchange.finishBody()
                }
                // It is the end of the turn that finds out.
                #expect(exchange.send(body: ByteBuffer(string: "a beginnin")))
            }
            #expect(try await promise.futureResult.get().plain == .response(200, "ok"))
            #expect(try await client.events == [.opened, .opened, .reused, .reused])
        }
    }

    @Test("What lies on a kept connection before a request is sent is not its answer, nor is the end its end")
    func waiting() async throws {
        let planted = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        for (method, text) in [(.get, planted), (.post, planted), (.get, ""), (.post, "")]
            as [(HTTPRequest.Method, String)]
        {
            try await Client.with([[.ok], [.ok]]) { client async throws in
                _ = try await client.exchange()
                let promise = client.eventLoop.makePromise(of: Outcome.self).bounded()
                let backend = client.backend
                try await client.onLoop { parts in
                    try Self.awaitPush(of: text, by: backend)
                    let request = try ForwardedRequest.make(method, "/", gate: parts.gate)
                    _ = parts.pool.send(request, to: Receiver(promise))
                }
                #expect(try await promise.futureResult.get().plain == .response(200, "ok"))
                #expect(try await client.events == [.opened, .reused, .opened])
            }
        }
    }

    @Test(
        "Where a body may follow that must not the connection is not used again, and is reset",
        arguments: [
            (.head, "200 OK\r\nContent-Length: 5"), (.head, "200 OK"), (.head, "200 OK\r\nTransfer-Encoding: chunked"),
            (.get, "304 Not Modified\r\nContent-Length: 5"), (.get, "204 No Content\r\nTransfer-Encoding: chunked"),
        ] as [(HTTPRequest.Method, String)])
    func announced(method: HTTPRequest.Method, head: String) async throws {
        try await Client.with([[.answer("HTTP/1.1 \(head)\r\n\r\n"), .ok], [.ok]]) { client async throws in
            _ = try await client.exchange(method)
            try await client.backend.awaitClose()
            #expect(try await client.exchange().plain == .response(200, "ok"))
            #expect(try await client.events == [.opened, .opened])
        }
    }

    // MARK: Idle connections

    @Test("A kept connection on which something comes unasked is thrown away")
    func unasked() async throws {
        try await Client.with([[.ok], [.ok]]) { client async throws in
            _ = try await client.exchange()
            try await client.backend.push("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
            try await client.backend.awaitClose()
            #expect(try await client.exchange().body == "ok")
            #expect(try await client.events == [.opened, .opened])
        }
    }

    @Test("A connection that nobody needs is closed after its time, or at once where none are kept")
    func keepAlive() async throws {
        try await Client.with([[.ok], [.ok]], settings: { $0.keepAlive = .milliseconds(50) }) { client async throws in
            _ = try await client.exchange()
            try await client.backend.awaitClose()
            #expect(try await client.exchange().body == "ok")
        }
        try await Client.with([[.ok], [.ok]], settings: { $0.maximumIdleConnections = 0 }) { client async throws in
            _ = try await client.exchange()
            try await client.backend.awaitClose()
        }
    }

    @Test("Closing the pool closes what is idle and keeps nothing further")
    func closing() async throws {
        try await Client.with([[.ok], [.ok]]) { client async throws in
            _ = try await client.exchange()
            try await client.onLoop { $0.pool.close() }
            try await client.backend.awaitClose()
            _ = try await client.exchange()
            try await client.backend.awaitClose(of: 1)
        }
    }

    @Test("When the pool is closed time-outs still hold, for what is in flight and for what is still sent")
    func timeoutsAfterClosing() async throws {
        try await Client.with([[], []], settings: { $0.timeouts.firstByte = .milliseconds(50) }) {
            client async throws in
            let outcome = try await client.begin()
            try await client.onLoop { $0.pool.close() }
            #expect(try await outcome.get() == .fault(.firstByteTimeout))
            #expect(try await client.exchange() == .fault(.firstByteTimeout))
        }
    }

    @Test("A closed pool is let go with its last exchange")
    func letGo() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        try await Client.with([[half]]) { client async throws in
            let held = try await client.onLoop { parts in
                NIOLoopBoundBox(
                    WeakPool(pool: parts.makePool()), eventLoop: client.eventLoop)
            }
            let done = client.eventLoop.makePromise(of: Outcome.self).bounded()
            try await client.onLoop { parts in
                guard let pool = held.value.kept else { throw TooLong() }
                let request = try ForwardedRequest.make(.get, "/", gate: parts.gate)
                held.value.exchange = pool.send(request, to: Receiver(done))
                pool.close()
                held.value.kept = nil
            }
            #expect(try await client.onLoop { _ in held.value.pool != nil })
            try await client.onLoop { _ in
                held.value.exchange?.cancel()
                held.value.exchange = nil
            }
            #expect(try await client.onLoop { _ in held.value.pool == nil })
        }
    }

    private struct WeakPool {
        var kept: UpstreamPool?
        weak var pool: UpstreamPool?
        var exchange: UpstreamExchange?

        init(pool: UpstreamPool) {
            self.kept = pool
            self.pool = pool
        }
    }

    @Test("A closed pool says that no server is out any more, and nothing after that")
    func outAfterClosing() async throws {
        try await Client.with([]) { client async throws in
            let seen = try await client.onLoop { parts in
                var seen: [ServerEvent] = []
                let pool = UpstreamPool(
                    settings: parts.pool.settings, loop: parts.curl, observeServer: { _, event in seen.append(event) })
                pool.setHealthy(false, server: 0)
                pool.close()
                pool.setHealthy(true, server: 0)
                pool.setHealthy(false, server: 0)
                pool.close()
                return seen
            }
            #expect(seen == [.serving(false), .serving(true)])
        }
    }

    @Test("A server's errors are told with the request that met them: failures, and responses of 5xx")
    func errorsOfServers() async throws {
        let answers = ["HTTP/1.1 200 OK", "HTTP/1.1 404 No", "HTTP/1.1 500 Oh", "HTTP/1.1 503 No", "HTTP/9 200 OK"]
        let script = [answers.map { Step.answer("\($0)\r\nContent-Length: 0\r\n\r\n") }]
        try await Client.with(script) { client async throws in
            for _ in answers { _ = try await client.exchange() }
            let told = try await client.onLoop { $0.serverErrors }
            let broken = "the response breaks HTTP/1.1: malformed-status-line"
            #expect(told == ["status 500", "status 503", broken].map { "\($0) (request-of-a-test)" })
        }
    }

    @Test("An exchange whose client has gone closes its connection and says nothing more")
    func cancel() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        try await Client.with([[half], []]) { client async throws in
            for index in 0..<2 {
                let head = client.eventLoop.makePromise(of: Void.self).bounded()
                _ = try await client.begin { _, receiver in receiver.onBody = { head.succeed() } }
                if index == 0 { try await head.futureResult.get() } else { head.succeed() }
                try await client.on { exchange, _ in exchange.cancel() }
                try await client.on { exchange, _ in exchange.cancel() }
                if index == 0 { try await client.backend.awaitClose() }
                #expect(try await client.on { _, receiver in receiver.ends } == 0)
            }
        }
    }

    @Test(
        "Exchanges that are cancelled in the tick of their beginning keep nobody from a connection",
        arguments: [false, true])
    func cancelledAtOnce(isBesideOther: Bool) async throws {
        try await Client.with(isBesideOther ? [[], [.ok]] : [[.ok]]) { client async throws in
            // With a fetch that waits for its response, libcurl has a time-out to wait for.
            let other = Task {
                guard isBesideOther else { return }
                let fetcher = try await client.onLoop { CurlFetcher(loop: $0.curl, allowsPlainText: true) }
                _ = try await fetcher.fetch(FetchRequest(url: client.backend.url, deadline: .seconds(50)))
            }
            while isBesideOther, try await client.backend.accepted == 0 { await Task.yield() }
            try await client.onLoop { parts in
                let promise = client.eventLoop.makePromise(of: Outcome.self)
                // More than libcurl is given in one turn.
                let exchanges = try (0..<100).map { _ in
                    let request = try ForwardedRequest.make(.get, "/", gate: parts.gate)
                    return parts.pool.send(request, to: Receiver(promise))
                }
                for exchange in exchanges { exchange.cancel() }
                promise.succeed(Outcome())
            }
            #expect(try await client.exchange().plain == .response(200, "ok"))
            other.cancel()
            _ = await other.result
        }
    }
}
