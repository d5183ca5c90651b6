import Encoding
import Foundation
import HTTP1
import HTTPTypes
import NIOCore
import Pipeline
import Testing

@testable import Upstream

@Suite("Upstream: bodies and backpressure", .timeLimit(.minutes(10)))
struct BackpressureTests {
    @Test("A request's body goes out in its framing, and the connection is kept")
    func bodies() async throws {
        let afterBody = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", await: "end!")
        let afterChunks = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", await: "\r\n0\r\n\r\n")
        try await Client.with([[afterBody, afterChunks]]) { client async throws in
            #expect(try await client.exchange(.post, framing: .length(4), body: "end!").body == "ok")
            #expect(try await client.exchange(.post, framing: .chunked, body: "hello").body == "ok")
            let received = try await client.backend.received()
            #expect(received.contains("Content-Length: 4\r\n"))
            #expect(received.hasSuffix("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"))
            #expect(try await client.events == [.opened, .reused])
        }
    }

    @Test("An empty part ends no chunked body")
    func emptyParts() async throws {
        let answer = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", await: "\r\n0\r\n\r\n")
        try await Client.with([[answer]]) { client async throws in
            let outcome = try await client.begin(.post, framing: .chunked) { exchange, _ in
                for part in ["", "a", "", "b", ""] { _ = exchange.send(body: ByteBuffer(string: part)) }
                exchange.finishBody()
            }.get()
            #expect(outcome.body == "ok")
            #expect(try await client.backend.received().hasSuffix("\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"))
        }
    }

    @Test("A backend that does not read stops the sender, and asks for more when it reads again")
    func slowBackend() async throws {
        let total = 8 << 20
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 << 10)
        let answer = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", await: "end!")
        try await Client.with([[answer]], reads: false) { client async throws in
            let full = client.eventLoop.makePromise(of: Int.self).bounded()
            let outcome = try await client.begin(.post, framing: .length(total + 4)) { exchange, receiver in
                let sender = Sender(exchange, part: part, total: total, full: full)
                receiver.onWantsBody = { sender.send() }
                sender.send()
            }
            // As much as fits into the sockets' buffers, and no more.
            let sent = try await full.futureResult.get()
            #expect(sent < total)
            try await client.backend.startReading()
            #expect(try await outcome.get().plain == .response(200, "ok"))
        }
    }

    /// Ejected for longer than a busy machine needs for the request that looks.
    private static let ejecting = EjectionPolicy(
        after: 1, paths: 1, clients: 1, ejectsLastServer: true, first: .seconds(300))

    @Test(
        "A backend that takes no more of a body has failed, also where its response has begun",
        arguments: [false, true])
    func stuckUpload(hasBegun: Bool) async throws {
        let total = 8 << 20
        let part = ByteBuffer(repeating: UInt8(ascii: "x"), count: 64 << 10)
        try await Client.with(
            [], reads: false,
            settings: {
                $0.timeouts.idle = .seconds(1)
                $0.ejection = Self.ejecting
            }
        ) { client async throws in
            let full = client.eventLoop.makePromise(of: Int.self).bounded()
            let outcome = try await client.begin(.post, framing: .length(total + 4)) { exchange, receiver in
                let sender = Sender(exchange, part: part, total: total, full: full)
                receiver.onWantsBody = { sender.send() }
                if hasBegun { receiver.onHead = { sender.send() } } else { sender.send() }
            }
            if hasBegun {
                while try await client.backend.accepted == 0 { await Task.yield() }
                try await client.backend.push("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
            }
            _ = try await full.futureResult.get()
            #expect(try await outcome.get().plain == Outcome(status: hasBegun ? 200 : nil, fault: .idleTimeout))
            guard case .noServer = try await client.exchange().fault else {
                Issue.record("the server is asked again")
                return
            }
        }
    }

    @Test("A backend whose response falls silent once it has begun has not failed")
    func silentStream() async throws {
        let event = Step.answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        try await Client.with(
            [[event], [.ok]],
            settings: {
                $0.timeouts.idle = .milliseconds(50)
                $0.ejection = Self.ejecting
            }
        ) { client async throws in
            let outcome = try await client.exchange()
            #expect(outcome.plain == Outcome(status: 200, body: "one", fault: .idleTimeout))
            let errors = try await client.onLoop { $0.serverErrors }
            #expect(errors == ["the response stopped for too long (request-of-a-test)"])
            #expect(try await client.exchange().plain == .response(200, "ok"))
        }
    }

    /// Sends for as long as it may. Touched on the loop only.
    private final class Sender {
        private let exchange: UpstreamExchange
        private let part: ByteBuffer
        private let total: Int
        private let full: EventLoopPromise<Int>
        private var sent = 0
        private var isFinished = false

        init(_ exchange: UpstreamExchange, part: ByteBuffer, total: Int, full: EventLoopPromise<Int>) {
            self.exchange = exchange
            self.part = part
            self.total = total
            self.full = full
        }

        func send() {
            while sent < total {
                sent += part.readableBytes
                // The first refusal is only that the connection is not up yet.
                guard exchange.send(body: part) else {
                    if sent > part.readableBytes { full.succeed(sent) }
                    return
                }
            }
            guard !isFinished else { return }
            isFinished = true
            _ = exchange.send(body: ByteBuffer(string: "end!"))
            exchange.finishBody()
        }
    }

    @Test("While it is paused an exchange delivers at most what one receive gave; then the rest")
    func slowClient() async throws {
        let size = 4 << 20
        let body = String(repeating: "x", count: size)
        let large = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n\(body)")
        try await Client.with([[large], [.ok, .ok, .ok]]) { client async throws in
            let paused = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(name: "large") { exchange, receiver in
                receiver.onBody = {
                    exchange.pause()
                    paused.succeed()
                }
            }
            try await paused.futureResult.get()
            // Round trips on the same loop: time in which more would have come.
            for _ in 0..<3 { #expect(try await client.exchange().body == "ok") }
            let held = try await client.on("large") { _, receiver in receiver.bodyBytes }
            #expect(held > 0 && held <= 64 << 10)
            try await client.on("large") { exchange, receiver in
                receiver.onBody = {}
                exchange.resume()
            }
            #expect(try await outcome.get().body.utf8.count == size)
        }
    }

    @Test("A paused exchange stays whole while another is given up and a third connects")
    func pausedAmongConnections() async throws {
        let size = 4 << 20
        let body = String(repeating: "x", count: size)
        let large = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n\(body)")
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        try await Client.with([[large], [half], [.ok]], settings: { $0.timeouts.idle = .milliseconds(1100) }) {
            client async throws in
            let paused = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(name: "large") { exchange, receiver in
                receiver.onBody = {
                    exchange.pause()
                    paused.succeed()
                }
            }
            try await paused.futureResult.get()
            // More than a second passes, then a new connection is made.
            #expect(try await client.begin(name: "other").get().fault == .idleTimeout)
            #expect(try await client.exchange().body == "ok")
            try await client.on("large") { exchange, receiver in
                receiver.onBody = {}
                exchange.resume()
            }
            #expect(try await outcome.get().body.utf8.count == size)
        }
    }

    @Test("A paused exchange is not given up for the client's slowness")
    func pausedDeadline() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        try await Client.with([[half], [half]], settings: { $0.timeouts.idle = .milliseconds(50) }) {
            client async throws in
            let paused = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(name: "paused") { exchange, receiver in
                receiver.onBody = {
                    exchange.pause()
                    paused.succeed()
                }
            }
            try await paused.futureResult.get()
            // Another response stops in its middle at the same time, and is given up.
            let other = try await client.begin(name: "other")
            #expect(try await other.get().fault == .idleTimeout)
            #expect(try await client.on("paused") { _, receiver in receiver.ends } == 0)
            try await client.backend.push("lf")
            try await client.on("paused") { exchange, receiver in
                receiver.onBody = {}
                exchange.resume()
            }
            #expect(try await outcome.get().plain == .response(200, "half"))
        }
    }

    @Test("After a pause the backend has its whole time again")
    func resumedDeadline() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nha")
        try await Client.with(
            [[half], [half], []],
            settings: {
                // Long enough for what follows the pause, also on a busy machine.
                $0.timeouts.idle = .seconds(5)
                $0.timeouts.firstByte = .seconds(1)
            }
        ) { client async throws in
            let paused = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(name: "paused") { exchange, receiver in
                receiver.onBody = {
                    exchange.pause()
                    paused.succeed()
                }
            }
            try await paused.futureResult.get()
            // By the end of this one the paused one's time would have passed as well.
            #expect(try await client.begin(name: "stalled").get().fault == .idleTimeout)
            try await client.on("paused") { exchange, receiver in
                receiver.onBody = {}
                exchange.resume()
            }
            // Deadlines are looked at all together: whatever had passed by now would be noticed with this one's.
            #expect(try await client.begin(name: "silent").get() == .fault(.firstByteTimeout))
            try await client.backend.push("lf")
            #expect(try await outcome.get().plain == .response(200, "half"))
        }
    }

    @Test("A send that fails while the client is slow takes nothing from it that the backend has said")
    func failedSendWhilePaused() async throws {
        // More than one receive takes, and no more than the sockets hold.
        let size = 120_000
        let body = String(repeating: "x", count: size)
        let last = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n\(body)")
        try await Client.with([[last]]) { client async throws in
            let paused = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(.post, framing: .chunked) { exchange, receiver in
                receiver.onBody = {
                    exchange.pause()
                    paused.succeed()
                }
            }
            try await paused.futureResult.get()
            try await client.backend.end()
            // The first of them is answered with a reset, the next one fails.
            for _ in 0..<10 {
                try await client.on { exchange, _ in _ = exchange.send(body: ByteBuffer(string: "more")) }
            }
            #expect(try await client.on { _, receiver in receiver.ends } == 0)
            try await client.on { exchange, receiver in
                receiver.onBody = {}
                exchange.resume()
            }
            #expect(try await outcome.get().body.utf8.count == size)
        }
    }

    /// A unix socket takes a small write whole or not at all, and always as many of the same size.
    @Test("A kept connection that takes nothing from the start is given up in time")
    func reusedAndFull() async throws {
        let path = NSTemporaryDirectory() + "gatehouse-\(UInt64.random(in: 0...UInt64.max)).sock"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
        try await Client.with([], reads: false, unixSocket: path, settings: { $0.timeouts.idle = .milliseconds(500) }) {
            client async throws in
            // Exchanges on the first connection until one cannot be sent: what comes then is not for it, and it takes
            // another connection.
            var fitting = -1
            var opened = 1
            while opened == 1 {
                let outcome = try await client.begin()
                while try await client.backend.accepted < 1 { await Task.yield() }
                // It is sent at the end of its tick.
                try await client.onLoop { _ in }
                try await client.backend.push(answer)
                while try await client.on("only", { _, receiver in receiver.ends == 0 }), opened == 1 {
                    opened = try await client.events.count { $0 == .opened }
                }
                if opened == 2 {
                    while try await client.backend.accepted < 2 { await Task.yield() }
                    try await client.backend.push(answer, on: 1)
                }
                #expect(try await outcome.get().body == "ok")
                fitting += 1
            }
            // The other connection has had its first, and is filled as far.
            for _ in 1..<fitting {
                let outcome = try await client.begin()
                try await client.onLoop { _ in }
                try await client.backend.push(answer, on: 1)
                #expect(try await outcome.get().body == "ok")
            }
            #expect(try await client.begin().get() == .fault(.idleTimeout))
            #expect(try await client.events.last == .reused)
        }
    }

    @Test("An answer that comes before the body is sent is delivered; the connection is used no more")
    func earlyAnswer() async throws {
        let early = Step.answer("HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\nno")
        try await Client.with([[early], [.ok]]) { client async throws in
            let outcome = try await client.begin(.post, framing: .length(1000)) { exchange, _ in
                _ = exchange.send(body: ByteBuffer(string: "some"))
            }.get()
            #expect(outcome.plain == .response(413, "no"))
            try await client.backend.awaitClose()
            // Too late, and harmless.
            try await client.on { exchange, _ in
                _ = exchange.send(body: ByteBuffer(string: "more"))
                exchange.finishBody()
            }
            #expect(try await client.exchange().body == "ok")
            #expect(try await client.events == [.opened, .opened])
        }
    }

    @Test(
        "The time for the first byte begins with the end of the request's body",
        arguments: [BodyFraming.length(4), .chunked])
    func silentAfterBody(framing: BodyFraming) async throws {
        try await Client.with([[]], settings: { $0.timeouts.firstByte = .milliseconds(50) }) { client in
            let isUp = client.eventLoop.makePromise(of: Void.self).bounded()
            let outcome = try await client.begin(.post, framing: framing, name: "upload") { exchange, receiver in
                // Wanted once the connection is there and the first part sent.
                receiver.onWantsBody = { isUp.succeed() }
                _ = exchange.send(body: ByteBuffer(string: "en"))
            }
            try await isUp.futureResult.get()
            try await client.on("upload") { exchange, _ in
                _ = exchange.send(body: ByteBuffer(string: "d!"))
                exchange.finishBody()
            }
            #expect(try await outcome.get() == .fault(.firstByteTimeout))
        }
    }

    @Test("A client that sends its body slowly is not taken for a slow backend")
    func slowUpload() async throws {
        let answer = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", await: "end!")
        try await Client.with(
            [[answer], []],
            settings: {
                $0.timeouts.idle = .milliseconds(500)
                $0.timeouts.firstByte = .milliseconds(500)
            }
        ) { client async throws in
            let outcome = try await client.begin(.post, framing: .length(4), name: "upload") { exchange, _ in
                _ = exchange.send(body: ByteBuffer(string: "en"))
            }
            // Meanwhile another one is given up, for its backend's silence.
            let other = try await client.begin(name: "other")
            #expect(try await other.get() == .fault(.firstByteTimeout))
            try await client.on("upload") { exchange, receiver in
                _ = exchange.send(body: ByteBuffer(string: "d!"))
                exchange.finishBody()
            }
            #expect(try await outcome.get().plain == .response(200, "ok"))
        }
    }
}
