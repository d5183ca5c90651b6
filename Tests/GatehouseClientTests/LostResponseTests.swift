import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Lost responses at a gateway, fake or real, whose clock the tests set forward: they run beside no other tests of it.
@Suite("Responses that are lost, at a gateway, fake or real", .serialized)
struct LostResponseTests {
    private static let backends = makeBackends()
    private static let pauses: [TimeInterval] = [1, 61, 86_400]

    @Test(
        "A session of the pool whose response was lost goes on, however late", arguments: Self.backends, Self.pauses)
    func account(_ backend: any Backend, _ pause: TimeInterval) async throws {
        let user = try await backend.newUser("lost")
        let store = MemoryStore()
        let client = backend.client(store)
        try await client.signIn(.email(user.email), password: user.password)
        let kept = try await lost(store, backend, pause)
        let next = backend.client(store)
        try await next.refresh()
        #expect(try await next.me().email == user.email)
        try await next.refresh()
        await expectEnded(kept, backend)
    }

    @Test(
        "A session with Apple whose response was lost goes on, however late", arguments: Self.backends, Self.pauses)
    func apple(_ backend: any Backend, _ pause: TimeInterval) async throws {
        let store = MemoryStore()
        let client = backend.client(store)
        let nonce = client.makeAppleNonce()
        let email = "ada-\(UUID().uuidString.prefix(8).lowercased())@icloud.example"
        let credential = try await backend.appleCredential(email: email, hashedNonce: nonce.hashed)
        try await client.signIn(with: credential, nonce: nonce)
        let kept = try await lost(store, backend, pause)
        let next = backend.client(store)
        try await next.refresh()
        #expect(try await next.validate().email == email)
        try await next.refresh()
        await expectEnded(kept, backend)
    }

    @Test(
        "A token whose successor was lost ends other devices' sessions for a minute", arguments: Self.backends,
        pairs([1, 61]))
    func everywhere(_ backend: any Backend, _ lost: (pause: TimeInterval, kind: SessionKind)) async throws {
        let stage = try await Stage(backend, "lost-everywhere")
        _ = try await stage.signedIn(lost.kind)
        let other = try await stage.signedIn(lost.kind, MemoryStore())
        let kept = try await self.lost(stage.store, backend, lost.pause)
        let isEnded = await stage.client(kept).signOut(everywhere: true)
        #expect(isEnded == (lost.pause < 60))
        let error = await failure { try await other.refresh() }
        if isEnded {
            guard case .signedOut(.ended) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        } else {
            #expect(error == nil)
        }
    }

    /// The gateway carries out a refresh, and its response and the repetition's get lost. Time passes then.
    ///
    /// - Returns: a copy of the store, with the token that was shown.
    private func lost(_ store: MemoryStore, _ backend: any Backend, _ pause: TimeInterval) async throws -> MemoryStore {
        let before = store.read()
        let transport = LosingTransport(inner: backend.transport)
        let client = Gatehouse(
            Configuration(url: backend.url), store: store, transport: transport, clock: backend.clock)
        guard case .network = await failure({ try await client.refresh() }) else {
            Issue.record("the responses were not lost")
            return MemoryStore(before)
        }
        #expect(store.read() == before)
        try await backend.advance(by: pause)
        return MemoryStore(before)
    }

    /// The first use of a successor ends the token before for good.
    private func expectEnded(_ kept: MemoryStore, _ backend: any Backend) async {
        guard case .signedOut(.ended(let reason)) = await failure({ try await backend.client(kept).refresh() }) else {
            Issue.record("the parent of a used token is taken")
            return
        }
        #expect(reason.name == "TokenRefreshException")
    }
}

/// Loses every response, after the gateway has sent it.
private struct LosingTransport: Transport {
    let inner: any Transport

    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        let (_, body) = try await inner.send(request, uploading: file)
        for try await _ in body {}
        throw URLError(.networkConnectionLost)
    }
}
