import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Requests with a session's token")
struct RequestTests {
    private func signedIn(_ scene: Scene) async throws -> (Gatehouse, RecordingTransport) {
        let transport = RecordingTransport(scene.gateway)
        let client = scene.client(transport: transport)
        try await client.signIn(.email(ada.email), password: ada.password)
        return (client, transport)
    }

    @Test(
        "swift-corelibs-foundation#5524: no token goes to another origin, not after a redirect either",
        arguments: [
            "https://other.example/echo", "http://gateway.example/echo", "https://gateway.example:8443/echo",
            "https://gateway.example@other.example/echo", "//other.example/echo",
        ])
    func foreignRedirect(_ location: String) async throws {
        let scene = Scene()
        let (client, transport) = try await signedIn(scene)
        scene.gateway.inject(.response(status: 302, body: "", headers: ["Location": location]), at: "/old")
        let (_, response) = try await client.data("/old")
        #expect(response.statusCode == 302)
        let hosts = transport.requests.map { $0.url?.absoluteString ?? "" }
        #expect(hosts.filter { !$0.hasPrefix("https://gateway.example/") } == [])
        let url = try #require(URL(string: "https://other.example/echo"))
        let sent = transport.requests.count
        let refused = await failure { _ = try await client.data(for: URLRequest(url: url)) }
        #expect(refused == .foreignOrigin(url))
        let unsigned = await failure { _ = try await client.signed(URLRequest(url: url)) }
        #expect(unsigned == .foreignOrigin(url))
        #expect(transport.requests.count == sent)
    }

    @Test("A redirect within the origin is followed, with the method and the body that its status asks for")
    func ownRedirect() async throws {
        let scene = Scene()
        let (client, transport) = try await signedIn(scene)
        for (status, method) in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")] {
            scene.gateway.inject(.response(status: status, body: "", headers: ["Location": "/echo"]), at: "/old")
            var request = client.request("/old")
            request.httpMethod = "POST"
            request.httpBody = Data("{}".utf8)
            #expect(try await client.data(for: request).1.statusCode == 200)
            let last = try #require(transport.requests.last)
            #expect(last.url?.path == "/echo")
            #expect(last.httpMethod == method)
            #expect((last.httpBody != nil) == (method == "POST"))
        }
    }

    @Test("A redirect that keeps a body which is a stream is handed on", arguments: [301, 302, 307, 308])
    func streamRedirect(_ status: Int) async throws {
        let scene = Scene()
        let (client, transport) = try await signedIn(scene)
        scene.gateway.inject(.response(status: status, body: "", headers: ["Location": "/echo"]), at: "/old")
        var request = client.request("/old")
        request.httpMethod = "PUT"
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        let sent = transport.requests.count
        #expect(try await client.data(for: request).1.statusCode == status)
        #expect(transport.requests.count == sent + 1)
    }

    @Test("Redirects in a circle end")
    func circle() async throws {
        let scene = Scene()
        let (client, _) = try await signedIn(scene)
        for _ in 0..<32 {
            scene.gateway.inject(.response(status: 302, body: "", headers: ["Location": "/old"]), at: "/old")
        }
        let error = await failure { _ = try await client.data("/old") }
        guard case .network(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.code == .httpTooManyRedirects)
    }

    @Test(
        "Any 401 signs out: one of the backend's own is handed on, without a refresh",
        arguments: [
            nil, "Bearer", "Basic realm=\"x\"", "Bearer error=\"insufficient_user_authentication\", max_age=\"60\"",
            "Bearer error_description=\"not invalid_token\"",
        ])
    func foreignRefusal(_ challenge: String?) async throws {
        let scene = Scene()
        let (client, _) = try await signedIn(scene)
        let headers = challenge.map { ["WWW-Authenticate": $0] } ?? [:]
        scene.gateway.inject(.response(status: 401, body: "no", headers: headers), at: "/echo")
        #expect(try await client.echo() == 401)
        #expect(scene.refreshes == 0)
        #expect(await client.state.user?.email == ada.email)
    }

    @Test("A token that the gateway refuses is refreshed, and the request repeated once")
    func repeated() async throws {
        let scene = Scene()
        let (client, _) = try await signedIn(scene)
        scene.gateway.refuseAccessTokens()
        #expect(try await client.echo() == 200)
        #expect(scene.refreshes == 1)
        // A route that refuses each token gets two requests, and no more.
        let challenge = ["WWW-Authenticate": "Bearer error=\"invalid_token\""]
        for _ in 0..<3 { scene.gateway.inject(.response(status: 401, body: "no", headers: challenge), at: "/strict") }
        let (data, response) = try await client.data("/strict")
        #expect(response.statusCode == 401)
        #expect(data == Data("no".utf8))
        #expect(scene.refreshes == 2)
        #expect(await client.state.user?.email == ada.email)
    }

    @Test("A session of Sign in with Apple whose tokens live for half a day is refreshed once in their second half")
    func shortSession() async throws {
        let clock = ManualClock()
        let gateway = FakeGateway(clock: clock, sessionTokenLifetime: 12 * 3600)
        let client = Gatehouse(
            Configuration(url: FakeGateway.url), store: MemoryStore(), transport: gateway, clock: clock)
        let nonce = client.makeAppleNonce()
        let credential = gateway.appleCredential(email: ada.email, hashedNonce: nonce.hashed)
        try await client.signIn(with: credential, nonce: nonce)
        for _ in 0..<3 { #expect(try await client.echo() == 200) }
        #expect(gateway.requests("/api/auth/refresh") == 0)
        clock.advance(by: 7 * 3600)
        for _ in 0..<3 { #expect(try await client.echo() == 200) }
        #expect(gateway.requests("/api/auth/refresh") == 1)
    }

    @Test("A call is not sent with a URL that has no origin")
    func noOrigin() async throws {
        let scene = Scene()
        let transport = RecordingTransport(scene.gateway)
        let client = Gatehouse(
            Configuration(url: URL(fileURLWithPath: "/")), store: scene.store, transport: transport, clock: scene.clock)
        let error = await failure { try await client.signIn(.email(ada.email), password: ada.password) }
        #expect(error == .foreignOrigin(client.request("/api/v1/auth/login").url))
        #expect(transport.requests.isEmpty)
    }

    @Test("A body that is a stream is not sent a second time")
    func stream() async throws {
        let scene = Scene()
        let (client, transport) = try await signedIn(scene)
        scene.gateway.refuseAccessTokens()
        var request = client.request("/echo")
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(data: Data("body".utf8))
        let sent = transport.requests.filter { $0.url?.path == "/echo" }.count
        let error = await failure { [request] in _ = try await client.data(for: request) }
        #expect(error == .bodyNotReplayable)
        #expect(transport.requests.filter { $0.url?.path == "/echo" }.count == sent + 1)
    }

    @Test("Tokens are in no description of an error, a state or a session")
    func descriptions() async throws {
        let store = MemoryStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        let session = try #require(storedMembers(store.read()))
        let texts = ["accessToken", "refreshToken"].compactMap { session[$0]?.text }
        #expect(texts.count == 2)
        let described = "\(await client.state) \(Secret(texts[0])) \(String(reflecting: Secret(texts[1])))"
        for text in texts { #expect(!described.contains(text)) }
    }
}
