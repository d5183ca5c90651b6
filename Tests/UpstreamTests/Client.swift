import Curl
import HTTP1
import HTTPTypes
import NIOCore
import NIOPosix
import Pipeline
import Sockets

@testable import Upstream

/// The outcome of one exchange.
struct Outcome: Sendable, Equatable {
    var status: Int?
    var fields: HTTPFields = [:]
    var body = ""
    var fault: UpstreamError?

    static func response(_ status: Int, _ body: String) -> Outcome { Outcome(status: status, body: body) }
    static func fault(_ fault: UpstreamError) -> Outcome { Outcome(fault: fault) }

    /// Without the fields, for comparing.
    var plain: Outcome {
        var plain = self
        plain.fields = [:]
        return plain
    }
}

/// Hears a response, keeps it, and can do something on the way.
final class Receiver: UpstreamResponseReceiver {
    private(set) var outcome = Outcome()
    private(set) var bodyBytes = 0
    /// Where the last part of the body was in memory.
    private(set) var bodyAddress: UInt?
    private(set) var ends = 0
    private let done: EventLoopPromise<Outcome>
    var clientHash: UInt64 = 0
    var requestID = "request-of-a-test"
    var onHead: () -> Void = {}
    var onBody: () -> Void = {}
    var onWantsBody: () -> Void = {}

    init(_ done: EventLoopPromise<Outcome>) { self.done = done }

    func upstreamResponded(_ head: ResponseHead) {
        outcome.status = head.status.code
        outcome.fields = head.fields.list
        onHead()
    }

    func upstreamSent(_ body: ByteBuffer) {
        bodyBytes += body.readableBytes
        bodyAddress = body.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
        outcome.body += String(buffer: body)
        onBody()
    }

    func upstreamReadComplete() {}
    func upstreamWantsBody() { onWantsBody() }

    private(set) var trailers: HTTPFields?
    func upstreamFinished(trailers: HTTPFields?) {
        self.trailers = trailers
        end()
    }

    func upstreamFailed(_ fault: UpstreamError) {
        outcome.fault = fault
        end()
    }

    private func end() {
        ends += 1
        done.succeed(outcome)
    }
}

/// A pool on an event loop of its own, and a backend on another.
final class Client: Sendable {
    let backend: Backend
    let eventLoop: any EventLoop
    private let parts: NIOLoopBound<Parts>

    /// Touched on the loop only.
    final class Parts {
        let curl: CurlLoop
        let pool: UpstreamPool
        let gate: Gate
        /// The exchanges that a test goes on with, by its own names.
        var exchanges: [String: (UpstreamExchange, Receiver)] = [:]

        init(_ settings: UpstreamSettings, _ gate: Gate, on eventLoop: SocketEventLoop) throws {
            self.gate = gate
            curl = try CurlLoop(eventLoop: eventLoop)
            let log = EventLog()
            pool = UpstreamPool(settings: settings, loop: curl) {
                log.events.append($0)
            } observeServer: { _, event in
                if case .erred(let error, let requestID) = event { log.errors.append("\(error.text) (\(requestID))") }
            }
            self.log = log
        }

        /// Another one, for a test's own use.
        func makePool() -> UpstreamPool { UpstreamPool(settings: pool.settings, loop: curl) }

        private let log: EventLog
        var seen: [UpstreamEvent] { log.events }
        /// The errors of servers, each with its request's identifier.
        var serverErrors: [String] { log.errors }

        private final class EventLog {
            var events: [UpstreamEvent] = []
            var errors: [String] = []
        }
    }

    private init(backend: Backend, eventLoop: any EventLoop, parts: NIOLoopBound<Parts>) {
        self.backend = backend
        self.eventLoop = eventLoop
        self.parts = parts
    }

    /// Runs a test with a backend that follows `script`, and ends everything afterwards.
    static func with(
        _ script: [[Step]], reads: Bool = true, url: String? = nil, unixSocket: String? = nil,
        settings change: @Sendable (inout UpstreamSettings) -> Void = { _ in },
        _ body: (Client) async throws -> Void
    ) async throws {
        let backendGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let group = try SocketEventLoopGroup(count: 1)
        let eventLoop = group.nextLoop()
        let backend = try await Backend(script, reads: reads, unixSocket: unixSocket, on: backendGroup.next())
        var settings = UpstreamSettings(name: "api", servers: [UpstreamServer(url: url ?? backend.url)])
        if unixSocket != nil {
            settings.servers = [UpstreamServer(url: "http://localhost", unixSocket: unixSocket)]
        }
        change(&settings)
        let gate = try Gate(
            routes: RouteTable([
                Route(name: "all", pattern: RoutePattern("/**"), access: .public, destination: .upstream("api"))
            ]), verifier: TokenVerifier(issuers: []))
        let parts = try await eventLoop.submit { [settings] in
            NIOLoopBound(try Parts(settings, gate, on: eventLoop), eventLoop: eventLoop)
        }.get()
        let client = Client(backend: backend, eventLoop: eventLoop, parts: parts)
        let result: Result<Void, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        try await client.onLoop { parts in
            parts.pool.close()
            parts.curl.close()
        }
        try await backend.close()
        try await group.shutdownGracefully()
        try await backendGroup.shutdownGracefully()
        try result.get()
    }

    func onLoop<Value: Sendable>(_ body: @escaping @Sendable (Parts) throws -> Value) async throws -> Value {
        let parts = parts
        return try await eventLoop.submit { try body(parts.value) }.get()
    }

    var events: [UpstreamEvent] {
        get async throws { try await onLoop { $0.seen } }
    }

    /// Begins an exchange; the future has its end.
    func begin(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", framing: BodyFraming = .none,
        name: String = "only", setUp: @escaping @Sendable (UpstreamExchange, Receiver) -> Void = { _, _ in }
    ) async throws -> EventLoopFuture<Outcome> {
        let promise = eventLoop.makePromise(of: Outcome.self).bounded()
        try await onLoop { parts in
            let receiver = Receiver(promise)
            let request = try ForwardedRequest.make(method, path, framing: framing, gate: parts.gate)
            let exchange = parts.pool.send(request, to: receiver)
            parts.exchanges[name] = (exchange, receiver)
            setUp(exchange, receiver)
        }
        return promise.futureResult
    }

    /// A whole exchange, of which all of `body` is sent at once.
    func exchange(
        _ method: HTTPRequest.Method = .get, _ path: String = "/", framing: BodyFraming = .none, body: String? = nil
    ) async throws -> Outcome {
        try await begin(method, path, framing: framing) { exchange, _ in
            guard let body else { return }
            _ = exchange.send(body: ByteBuffer(string: body))
            exchange.finishBody()
        }.get()
    }

    /// Goes on with an exchange that was begun.
    func on<Value: Sendable>(
        _ name: String = "only", _ body: @escaping @Sendable (UpstreamExchange, Receiver) -> Value
    ) async throws -> Value {
        try await onLoop { parts in
            guard let (exchange, receiver) = parts.exchanges[name] else { throw TooLong() }
            return body(exchange, receiver)
        }
    }
}

struct NotForwarded: Error {}

extension ForwardedRequest {
    /// The request as a public route of `gate` forwards it.
    static func make(
        _ method: HTTPRequest.Method, _ path: String, fields: HTTPFields = [:], authority: String? = "api.example.com",
        framing: BodyFraming = .none, gate: Gate
    ) throws -> ForwardedRequest {
        guard let trace = TraceContext(parsing: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01") else {
            throw NotForwarded()
        }
        let request = HTTPRequest(
            method: method, scheme: "http", authority: authority, path: path, headerFields: fields)
        let context = RequestContext(peer: "203.0.113.7", scheme: "http", requestID: "id-1", trace: trace, now: 0)
        let decision = gate.decide(request, context, cache: TokenCache(), keySets: [])
        guard case .forward(let permit) = consume decision else { throw NotForwarded() }
        return ForwardedRequest(
            permit, framing: framing,
            upstream: UpstreamSettings(name: "api", servers: [UpstreamServer(url: "http://backend.test:8000")]))
    }
}
