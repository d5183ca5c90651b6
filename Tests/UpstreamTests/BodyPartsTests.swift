import Dispatch
import Foundation
import HTTP1
import HTTPTypes
import NIOCore
import Testing

@testable import Upstream

@Suite("Upstream: parts of a body", .timeLimit(.minutes(10)))
struct BodyPartsTests {
    static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    /// Begins an upload, whose first byte has left on a new connection.
    private static func begin(_ client: Client, _ framing: BodyFraming) async throws -> EventLoopFuture<Outcome> {
        let isUp = client.eventLoop.makePromise(of: Void.self).bounded()
        let outcome = try await client.begin(.post, framing: framing) { exchange, receiver in
            receiver.onWantsBody = { isUp.succeed() }
            _ = exchange.send(body: ByteBuffer(string: "<"))
        }
        try await isUp.futureResult.get()
        while try await client.backend.accepted == 0 { await Task.yield() }
        return outcome
    }

    private static func finish(_ client: Client) async throws {
        try await client.on { exchange, _ in
            _ = exchange.send(body: ByteBuffer(string: "end!"))
            exchange.finishBody()
        }
    }

    /// A unix socket stores a few hundred sends that nobody reads, of however few bytes each.
    @Test("Those that come together leave together", arguments: [BodyFraming.length(10_005), .chunked])
    func together(framing: BodyFraming) async throws {
        let path = NSTemporaryDirectory() + "gatehouse-\(UInt64.random(in: 0...UInt64.max)).sock"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Client.with([[.answer(Self.ok, await: "end!")]], reads: false, unixSocket: path) {
            client async throws in
            let outcome = try await Self.begin(client, framing)
            let taken = try await client.on { exchange, _ in
                (0..<10_000).count { _ in exchange.send(body: ByteBuffer(string: "~")) }
            }
            #expect(taken == 10_000)
            try await client.backend.startReading()
            try await Self.finish(client)
            #expect(try await outcome.get().plain == .response(200, "ok"))
            #expect(try await client.backend.received().utf8.count { $0 == UInt8(ascii: "~") } == 10_000)
        }
    }

    @Test("They leave at the end of the turn at the latest")
    func endOfTurn() async throws {
        try await Client.with([[.answer(Self.ok, await: "end!")]]) { client async throws in
            let outcome = try await Self.begin(client, .length(8))
            try await client.on { exchange, _ in
                for part in ["a", "b", "c"] { #expect(exchange.send(body: ByteBuffer(string: part))) }
            }
            while try await !client.backend.received().hasSuffix("<abc") { await Task.yield() }
            try await Self.finish(client)
            #expect(try await outcome.get().plain == .response(200, "ok"))
        }
    }

    @Test("64 KiB of them leave at once", arguments: [1, 16 << 10, 64 << 10])
    func atOnce(size: Int) async throws {
        let count = (64 << 10) / size
        try await Client.with([[.answer(Self.ok, await: "end!")]]) { client async throws in
            let outcome = try await Self.begin(client, .length(7 + count * size))
            let hasArrived = try await client.on { exchange, _ in
                for part in ["a", "b"] { _ = exchange.send(body: ByteBuffer(string: part)) }
                let part = ByteBuffer(repeating: UInt8(ascii: "~"), count: size)
                for _ in 0..<count { _ = exchange.send(body: part) }
                return Self.awaitBytes(64 << 10, at: client.backend)
            }
            #expect(hasArrived)
            try await Self.finish(client)
            #expect(try await outcome.get().plain == .response(200, "ok"))
            let body = "<ab" + String(repeating: "~", count: count * size) + "end!"
            #expect(try await client.backend.received().hasSuffix("\r\n\r\n" + body))
        }
    }

    /// Blocks the loop, so that its turn does not end, until the backend has got so many bytes.
    private static func awaitBytes(_ count: Int, at backend: Backend) -> Bool {
        let arrived = DispatchSemaphore(value: 0)
        Task {
            while try await backend.received().utf8.count < count { await Task.yield() }
            arrived.signal()
        }
        return arrived.wait(timeout: .now() + 50) == .success
    }

    @Test("Chunks keep their order, whatever their size")
    func order() async throws {
        let large = String(repeating: "~", count: 2 << 10)
        try await Client.with([[.answer(Self.ok, await: "\r\n0\r\n\r\n")]]) { client async throws in
            let outcome = try await Self.begin(client, .chunked)
            try await client.on { exchange, _ in
                for part in ["a", "b", "", large, "c", large, "d", "e"] {
                    _ = exchange.send(body: ByteBuffer(string: part))
                }
                exchange.finishBody()
            }
            #expect(try await outcome.get().plain == .response(200, "ok"))
            let chunks = ["<", "a", "b", large, "c", large, "d", "e", ""].map { part in
                String(part.utf8.count, radix: 16) + "\r\n\(part)\r\n"
            }
            #expect(try await client.backend.received().hasSuffix("\r\n\r\n" + chunks.joined()))
        }
    }

    @Test("On a tunnel they arrive also when the client goes in the same turn")
    func tunnel() async throws {
        try await Client.with([[]]) { client async throws in
            let outcome = try await client.begin()
            while try await client.backend.accepted == 0 { await Task.yield() }
            while try await !client.backend.received().hasSuffix("\r\n\r\n") { await Task.yield() }
            try await client.on { exchange, receiver in
                exchange.becomeTunnel()
                for part in ["a", "b", "c"] { _ = exchange.send(body: ByteBuffer(string: part)) }
                exchange.cancel()
                // A cancelled exchange reports no end.
                receiver.upstreamFailed(.connectionLost)
            }
            #expect(try await outcome.get() == .fault(.connectionLost))
            try await client.backend.awaitClose()
            #expect(try await client.backend.received().hasSuffix("\r\n\r\nabc"))
        }
    }
}
