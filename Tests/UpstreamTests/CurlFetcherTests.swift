import NIOCore
import Testing

@testable import HTTPClient
@testable import Upstream

@Suite("Upstream: the gateway's own requests", .timeLimit(.minutes(10)))
struct CurlFetcherTests {
    /// A backend with this script and a fetcher that may speak plain text to it, unless told otherwise.
    static func with(
        _ script: [[Step]], plainText: Bool = true, _ body: (CurlFetcher, Backend) async throws -> Void
    ) async throws {
        try await Client.with(script) { client async throws in
            let fetcher = try await client.onLoop { CurlFetcher(loop: $0.curl, allowsPlainText: plainText) }
            try await body(fetcher, client.backend)
        }
    }

    static func fetch(_ fetcher: CurlFetcher, _ request: FetchRequest) async -> FetchError? {
        do {
            _ = try await fetcher.fetch(request)
            return nil
        } catch {
            return error
        }
    }

    @Test("A GET sends its fields and gets status, fields and body")
    func get() async throws {
        let answer =
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: one\r\nx-a:two\r\nCache-Control:  max-age=5\r\n\r\nok"
        try await Self.with([[.answer(answer)]]) { fetcher, backend async throws in
            let response = try await fetcher.fetch(
                FetchRequest(url: backend.url + "/keys?x=y", headers: [(name: "X-Own", value: "1")]))
            #expect(response.status == 200)
            #expect(response.body == Array("ok".utf8))
            #expect(response.headers.map(\.name) == ["content-length", "x-a", "x-a", "cache-control"])
            #expect(response.header("x-a") == "one")
            #expect(response.header("cache-control") == "max-age=5")
            let sent = try await backend.received()
            #expect(sent.hasPrefix("GET /keys?x=y HTTP/1.1\r\nHost: 127.0.0.1:\(backend.port)\r\n"))
            #expect(sent.contains("\r\nX-Own: 1\r\n"))
            #expect(!sent.contains("Expect"))
        }
    }

    @Test("A POST sends its body as it is, with its length, also with a NUL in it or of no bytes")
    func post() async throws {
        for body in ["{\"a\":\"\u{0}\"}end!", "end!"] {
            try await Self.with([[.answer("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n", await: "end!")]]) {
                fetcher, backend async throws in
                let response = try await fetcher.fetch(
                    FetchRequest(
                        method: "POST", url: backend.url + "/", headers: [(name: "Content-Type", value: "x/y")],
                        body: Array(body.utf8)))
                #expect(response.status == 201)
                #expect(response.body == [])
                let sent = try await backend.received()
                #expect(sent.hasPrefix("POST / HTTP/1.1\r\n"))
                #expect(sent.contains("\r\nContent-Type: x/y\r\n"))
                #expect(sent.contains("\r\nContent-Length: \(body.utf8.count)\r\n"))
                #expect(sent.hasSuffix("\r\n\r\n" + body))
            }
        }
        try await Self.with([[.ok]]) { fetcher, backend async throws in
            _ = try await fetcher.fetch(FetchRequest(method: "POST", url: backend.url, body: []))
            #expect(try await backend.received().contains("\r\nContent-Length: 0\r\n"))
        }
    }

    @Test("A task that was cancelled before it began sends nothing and ends at once")
    func cancelledBefore() async throws {
        try await Self.with([]) { fetcher, backend async throws in
            let began = ContinuousClock.now
            let url = backend.url
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await Self.fetch(fetcher, FetchRequest(url: url, deadline: .seconds(30)))
            }
            task.cancel()
            #expect(await task.value == .cancelled)
            #expect(ContinuousClock.now - began < .seconds(10))
            #expect(try await backend.accepted == 0)
        }
    }

    @Test("An answer larger than allowed is refused, announced or not; one just as large is not")
    func size() async throws {
        let body = String(repeating: "x", count: 100)
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n\(body)"
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n\(body)\r\n0\r\n\r\n"
        for answer in [sized, chunked] {
            try await Self.with([[.answer(answer)], [.answer(answer)]]) { fetcher, backend async throws in
                let whole = try await fetcher.fetch(FetchRequest(url: backend.url, maximumResponseBytes: 100))
                #expect(whole.body.count == 100)
            }
            try await Self.with([[.answer(answer)]]) { fetcher, backend async throws in
                let request = FetchRequest(url: backend.url, maximumResponseBytes: 99)
                #expect(await Self.fetch(fetcher, request) == .responseTooLarge)
            }
            try await Self.with([[.answer(answer)]]) { fetcher, backend async throws in
                let request = FetchRequest(url: backend.url, maximumResponseBytes: 99, needsWholeBody: false)
                #expect(try await fetcher.fetch(request).status == 200)
            }
        }
        let fields = String(repeating: "X-A: \(String(repeating: "x", count: 1000))\r\n", count: 70)
        try await Self.with([[.answer("HTTP/1.1 200 OK\r\n\(fields)Content-Length: 0\r\n\r\n")]]) {
            fetcher, backend async throws in
            #expect(await Self.fetch(fetcher, FetchRequest(url: backend.url)) == .responseTooLarge)
        }
    }

    @Test("The whole exchange has a deadline, whether nothing comes or only a part")
    func deadline() async throws {
        let half = Step.answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
        try await Self.with([[], [half]]) { fetcher, backend async throws in
            for _ in 0..<2 {
                let request = FetchRequest(url: backend.url, deadline: .milliseconds(100))
                #expect(await Self.fetch(fetcher, request) == .timedOut)
            }
        }
    }

    @Test("Only https is fetched, and http where it was allowed; nothing else ever is")
    func schemes() async throws {
        try await Self.with([[.ok]], plainText: false) { fetcher, backend async throws in
            #expect(await Self.fetch(fetcher, FetchRequest(url: backend.url)) == .forbiddenScheme)
            let accepted = try await backend.accepted
            #expect(accepted == 0)
        }
        try await Self.with([]) { fetcher, backend async throws in
            for url in [
                "file:///etc/hostname", "ftp://127.0.0.1:\(backend.port)/", "gopher://127.0.0.1:\(backend.port)/",
            ] {
                #expect(await Self.fetch(fetcher, FetchRequest(url: url)) == .forbiddenScheme, "\(url)")
            }
            let accepted = try await backend.accepted
            #expect(accepted == 0)
        }
    }

    @Test("A redirect is an answer like any other and is not followed")
    func redirect() async throws {
        try await Self.with([
            [.answer("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"), .ok], [.ok],
        ]) { fetcher, backend async throws in
            let response = try await fetcher.fetch(FetchRequest(url: backend.url + "/"))
            #expect(response.status == 302)
            #expect(response.header("location") == "/elsewhere")
            #expect(try await backend.received().ranges(of: "GET ").count == 1)
            #expect(try await backend.accepted == 1)
        }
    }

    @Test("A server that is down, breaks off or is none is a failure")
    func failures() async throws {
        let silent = try #require(SilentPort())
        try await Self.with([
            [.close()], [.close("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")], [.answer("220 mail\r\n\r\n")],
        ]) {
            fetcher, backend async throws in
            guard case .cannotConnect(let words)? = await Self.fetch(fetcher, FetchRequest(url: silent.url)) else {
                Issue.record("connected to a closed port")
                return
            }
            // In logs it is libcurl's words and nothing of Swift's.
            #expect("\(FetchError.cannotConnect(words))" == words && !words.contains("\""))
            for _ in 0..<2 {
                let fault = await Self.fetch(fetcher, FetchRequest(url: backend.url))
                guard case .failed = fault else {
                    Issue.record("\(String(describing: fault))")
                    continue
                }
            }
            // libcurl takes it for HTTP/0.9, and that for another scheme.
            let notHTTP = await Self.fetch(fetcher, FetchRequest(url: backend.url))
            #expect(notHTTP == .forbiddenScheme)
        }
        withExtendedLifetime(silent) {}
    }

    @Test("A header that would be two is never sent")
    func injection() async throws {
        try await Self.with([[.ok]]) { fetcher, backend async throws in
            for value in ["a\r\nX-B: c", "a\nX-B: c", "a\0", "\u{1b}"] {
                let request = FetchRequest(url: backend.url, headers: [(name: "X-A", value: value)])
                guard case .failed = await Self.fetch(fetcher, request) else {
                    Issue.record("\(value.debugDescription) was sent")
                    continue
                }
            }
            let accepted = try await backend.accepted
            #expect(accepted == 0)
        }
    }
}
