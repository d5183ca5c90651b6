import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Reports a cancelled task as URLSession does.
private struct CancelledTransport: Transport {
    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        while !Task.isCancelled { await Task.yield() }
        throw URLError(.cancelled)
    }
}

@Suite("Responses to a refresh")
struct RefusalTests {
    struct Failure: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var faults: [Fault]
        /// Seconds after which the next try is made.
        var pause: TimeInterval = 2
    }

    private static func refusal(_ status: Int, _ name: String, retryAfter: Double? = nil) -> Fault {
        .refusal(GatewayError(name: name, message: "As the gateway says.", status: status, retryAfter: retryAfter))
    }

    static let failures = [
        Failure(testDescription: "400", faults: [refusal(400, "BadRequestException")]),
        Failure(
            testDescription: "401 of something on the way",
            faults: [.response(status: 401, body: "<html>Sign in</html>")]),
        Failure(
            testDescription: "401 in JSON of another kind",
            faults: [.response(status: 401, body: #"{"message":"Unauthorized"}"#)]),
        Failure(testDescription: "403", faults: [refusal(403, "AccessDeniedException")]),
        Failure(testDescription: "404 of something on the way", faults: [.response(status: 404, body: "not found")]),
        Failure(
            testDescription: "429 with Retry-After", faults: [refusal(429, "TooManyRequestsException", retryAfter: 90)],
            pause: 91),
        Failure(testDescription: "500", faults: [refusal(500, "InternalFailureException")]),
        Failure(testDescription: "502 of something on the way", faults: [.response(status: 502, body: "<html>")]),
        Failure(
            testDescription: "503 with Retry-After",
            faults: [refusal(503, "IdentityProviderUnavailableException", retryAfter: 30)], pause: 31),
        Failure(testDescription: "garbage with 200", faults: [.response(status: 200, body: "<html>Wi-Fi</html>")]),
        Failure(testDescription: "an empty 200", faults: [.response(status: 200, body: "")]),
        Failure(testDescription: "a 302", faults: [.response(status: 302, body: "", headers: ["Location": "/portal"])]),
        Failure(testDescription: "no connection", faults: [.noConnection, .noConnection]),
        Failure(testDescription: "lost responses", faults: [.lostResponse, .lostResponse]),
        Failure(testDescription: "broken bodies", faults: [.brokenBody, .brokenBody]),
        Failure(testDescription: "half a body", faults: [.cutBody]),
    ]

    @Test("Any 401 signs out: a failed refresh keeps the session, and the next one succeeds", arguments: failures)
    func keepsSession(_ failed: Failure) async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 7200)
        for fault in failed.faults { scene.gateway.inject(fault, at: refreshPath) }
        let error = await failure { _ = try await client.echo() }
        #expect(error != nil)
        if case .signedOut = error { Issue.record("signed out") }
        #expect(await client.state.user?.email == ada.email)
        #expect(storedMembers(try await scene.store.read()) != nil)
        // Until the pause is over, nobody asks the gateway again.
        let asked = scene.refreshes
        let again = await failure { _ = try await client.echo() }
        #expect(again == error)
        #expect(scene.refreshes == asked)
        scene.clock.advance(by: failed.pause)
        #expect(try await client.echo() == 200)
        // The next start goes on too.
        scene.clock.advance(by: 7200)
        #expect(try await scene.client().echo() == 200)
    }

    @Test("A refresh that fails while the token is still good is nobody's error", arguments: failures)
    func stillGood(_ failed: Failure) async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 3570)
        for fault in failed.faults { scene.gateway.inject(fault, at: refreshPath) }
        #expect(try await client.echo() == 200)
        #expect(scene.gateway.requests("/echo") == 1)
        #expect(await client.state.user?.email == ada.email)
    }

    @Test("supabase-swift#630: refreshes go on after a night of failures, at most five minutes apart")
    func backOff() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 7200)
        for _ in 0..<40 {
            scene.gateway.inject(.response(status: 500, body: ""), at: refreshPath)
            let error = await failure { _ = try await client.echo() }
            #expect(error == .unexpectedResponse(status: 500))
            scene.clock.advance(by: 300)
        }
        #expect(try await client.echo() == 200)
    }

    @Test("A request's failures of Retry-After are not cut short by more uses")
    func retryAfter() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.clock.advance(by: 7200)
        scene.gateway.inject(Self.refusal(503, "ServiceUnavailableException", retryAfter: 120), at: refreshPath)
        for second in 0..<120 {
            let error = await failure { _ = try await client.echo() }
            guard case .unavailable = error else {
                Issue.record("after \(second) s: \(String(describing: error))")
                return
            }
            scene.clock.advance(by: 1)
        }
        #expect(scene.refreshes == 1)
        #expect(try await client.echo() == 200)
    }

    @Test("A sign-in whose task is cancelled ends as cancelled, not as one without a network")
    func cancelled() async throws {
        let scene = Scene()
        var configuration = Configuration(url: FakeGateway.url)
        configuration.signInRetries = 0
        let client = Gatehouse(
            configuration, store: scene.store, transport: CancelledTransport(), clock: scene.clock)
        let signIn = Task { try await client.signIn(.email(ada.email), password: ada.password) }
        signIn.cancel()
        await #expect(throws: CancellationError.self) { try await signIn.value }
    }

    @Test("A user whom another process signs in does not wait for the refreshes of the one before")
    func otherUser() async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        scene.gateway.inject(Self.refusal(503, "ServiceUnavailableException", retryAfter: 3600), at: refreshPath)
        await #expect(throws: GatehouseError.self) { try await appExtension.refresh() }
        await app.signOut()
        try await app.signIn(.email(ben.email), password: ben.password)
        #expect(await failure { try await appExtension.refresh() } == .signedOut(.elsewhere))
        scene.clock.advance(by: 3590)
        let before = scene.refreshes
        #expect(try await appExtension.echo() == 200)
        #expect(scene.refreshes == before + 1)
    }

    @Test("A session that the gateway has ended is over, for the gateway's reason")
    func ended() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        var events = await client.events.makeAsyncIterator()
        scene.gateway.endSessions(of: ada.email)
        let error = await failure { try await client.refresh() }
        guard case .signedOut(.ended(let reason)) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.name == "TokenRefreshException")
        #expect(reason.message == "The session has ended. Sign in again.")
        #expect(error?.message == reason.message)
        #expect(await client.state == .signedOut(.ended(reason)))
        #expect(storedMembers(try await scene.store.read()) == nil)
        #expect(await events.next() == .signedOut(.ended(reason)))
    }
}
