import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Returns the head of the user's response. Nothing of its body comes.
private struct HeadsOnly: Transport {
    let inner: any Transport
    /// Reached once there is a head.
    let head: Hold
    private let silence = AsyncThrowingStream<Data, any Error>.makeStream()

    init(_ inner: any Transport) {
        self.inner = inner
        head = Hold()
        head.release()
    }

    func send(_ request: URLRequest, uploading file: URL?) async throws -> (HTTPURLResponse, ResponseBody) {
        let (response, body) = try await inner.send(request, uploading: file)
        guard request.url?.path == mePath else { return (response, body) }
        await head.wait()
        return (response, ResponseBody(silence.stream))
    }
}

@Suite("Responses that are empty or cut off", .timeLimit(.minutes(10)))
struct CutResponseTests {
    private func expectAda(_ client: Gatehouse, _ scene: Scene) async throws {
        #expect(await client.state.user?.email == ada.email)
        #expect(storedMembers(try await scene.store.read())?["user"]?["email"]?.text == ada.email)
    }

    @Test("An empty response is no user, and the one that is signed in stays", arguments: [200, 204])
    func empty(_ status: Int) async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.gateway.inject(.response(status: status, body: ""), at: "/me")
        #expect(await failure { _ = try await client.me() } == .unexpectedResponse(status: status))
        try await expectAda(client, scene)
    }

    @Test("A sign-out is no success if the response is an empty one of something on the way")
    func emptySignOut() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.gateway.inject(.response(status: 200, body: ""), at: "/logout")
        #expect(await client.signOut() == false)
    }

    @Test("A call that is cancelled while the body comes ends as cancelled, and the user stays")
    func cancelledCall() async throws {
        let scene = Scene()
        let transport = HeadsOnly(scene.gateway)
        let client = scene.client(transport: transport)
        try await client.signIn(.email(ada.email), password: ada.password)
        let call = Task { try await client.me() }
        await transport.head.reached()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await expectAda(client, scene)
    }

    @Test("A body whose reader is cancelled ends as cancelled")
    func cancelledReader() async throws {
        let scene = Scene()
        let transport = HeadsOnly(scene.gateway)
        let client = scene.client(transport: transport)
        try await client.signIn(.email(ada.email), password: ada.password)
        let reading = Task {
            for try await _ in try await client.bytes(for: client.request(mePath)).0 { Issue.record("a piece") }
        }
        await transport.head.reached()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
    }
}
