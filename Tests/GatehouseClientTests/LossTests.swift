import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite("Refreshes that are lost")
struct LossTests {
    /// Where the process ends in a refresh.
    enum Point: CaseIterable, Sendable { case beforeSending, afterRotation, beforeStoring }

    @Test(
        "Auth0.swift#490: an app that is killed in a refresh is signed in at its next start, however late",
        arguments: Point.allCases, [1.0, 61, 86_400])
    func killed(_ point: Point, _ pause: TimeInterval) async throws {
        let scene = Scene()
        let app = try await scene.signedIn()
        await app.signOut()
        let hold = Hold()
        let store: any SessionStore = point == .beforeStoring ? LostWrites(inner: scene.store) : scene.store
        try await scene.client().signIn(.email(ada.email), password: ada.password)
        let killed = scene.client(store: store)
        await killed.restore()
        switch point {
        case .beforeSending: scene.gateway.inject(.heldBefore(hold), at: refreshPath)
        case .afterRotation: scene.gateway.inject(.heldAfter(hold), at: refreshPath)
        case .beforeStoring: break
        }
        let before = storedMembers(try await scene.store.read())?["refreshToken"]
        if point == .beforeStoring {
            try await killed.refresh()
        } else {
            // Never released before the next start has done its work: this process does nothing any more.
            let task = Task { try await killed.refresh() }
            await hold.reached()
            defer {
                hold.release()
                task.cancel()
            }
            try await comesBack(scene, after: pause)
            return
        }
        #expect(storedMembers(try await scene.store.read())?["refreshToken"] == before)
        try await comesBack(scene, after: pause)
    }

    private func comesBack(_ scene: Scene, after pause: TimeInterval) async throws {
        scene.clock.advance(by: pause)
        let next = scene.client()
        #expect(await next.restore().user?.email == ada.email)
        try await next.refresh()
        #expect(try await next.echo() == 200)
        // And so does the one after it.
        try await scene.client().refresh()
        #expect(await next.state.user?.email == ada.email)
    }

    @Test("A response that is lost twice in a row is given once more")
    func lostTwice() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        for fault in [Fault.lostResponse, .lostResponse] { scene.gateway.inject(fault, at: refreshPath) }
        let error = await failure { try await client.refresh() }
        guard case .network = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(await client.state.user?.email == ada.email)
        scene.clock.advance(by: 86_400)
        #expect(try await client.echo() == 200)
    }

    @Test("A lost response of a refresh is asked for again at once")
    func repeated() async throws {
        let scene = Scene()
        let client = try await scene.signedIn()
        scene.gateway.inject(.lostResponse, at: refreshPath)
        try await client.refresh()
        #expect(scene.refreshes == 2)
    }

    @Test("A session of Sign in with Apple whose response was lost goes on", arguments: [1.0, 61, 86_400])
    func apple(_ pause: TimeInterval) async throws {
        let scene = Scene()
        let client = scene.client()
        let nonce = client.makeAppleNonce()
        let credential = scene.gateway.appleCredential(email: "ada@icloud.example", hashedNonce: nonce.hashed)
        try await client.signIn(with: credential, nonce: nonce)
        for _ in 0..<2 { scene.gateway.inject(.lostResponse, at: "/api/auth/refresh") }
        let error = await failure { try await client.refresh() }
        guard case .network = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        scene.clock.advance(by: pause)
        let next = scene.client()
        try await next.refresh()
        #expect(try await next.validate().email == "ada@icloud.example")
    }

    @Test("A refresh with Apple names the device of its sign-in, which alone gets a lost response")
    func appleDevice() async throws {
        let scene = Scene()
        let transport = RecordingTransport(scene.gateway)
        let client = scene.client(transport: transport)
        let nonce = client.makeAppleNonce()
        let credential = scene.gateway.appleCredential(email: "ada@icloud.example", hashedNonce: nonce.hashed)
        try await client.signIn(with: credential, nonce: nonce)
        try await client.refresh()
        let bodies = try transport.requests.compactMap(\.httpBody).map { body in
            try JSONDecoder().decode(JSONValue.self, from: body)
        }
        let devices = bodies.compactMap { $0["device_info"]?["device_id"]?.text }
        #expect(devices.count == 2 && Set(devices).count == 1)
    }

    @Test("A sign-in whose connection fails before the gateway sees it is repeated, and a lost code is not")
    func signIn() async throws {
        let scene = Scene()
        let client = scene.client()
        for _ in 0..<2 { scene.gateway.inject(.noConnection, at: "/login") }
        #expect(try await client.signIn(.email(ada.email), password: ada.password).user?.email == ada.email)
        let email = "cleo@example.com"
        _ = try await client.register(.email(email), password: ben.password)
        scene.gateway.inject(.lostResponse, at: "/confirm")
        let code = try #require(scene.gateway.code(for: email))
        let error = await failure { try await client.confirm(.email(email), code: code, password: ben.password) }
        guard case .network = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(scene.gateway.requests("/api/v1/auth/confirm") == 1)
    }

    @Test("A wall clock that jumps an hour either way signs nobody out", arguments: [-3600.0, 3600], [false, true])
    func wallClock(_ jump: TimeInterval, _ restarts: Bool) async throws {
        let scene = Scene()
        let device = ManualClock(now: scene.clock.now)
        var client = scene.client(clock: device)
        try await client.signIn(.email(ada.email), password: ada.password)
        device.setWallClock(forwardBy: jump)
        if restarts { client = scene.client(clock: device) }
        #expect(try await client.echo() == 200)
        if !restarts { #expect(scene.refreshes == 0) }
        for _ in 0..<3 {
            scene.clock.advance(by: 3600)
            device.advance(by: 3600)
            #expect(try await client.echo() == 200)
        }
        #expect(await client.state.user?.email == ada.email)
        #expect(scene.refreshes >= 3)
    }
}
