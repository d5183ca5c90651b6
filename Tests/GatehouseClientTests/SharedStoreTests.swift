import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("Stores that several processes share, and stores that cannot be read")
struct SharedStoreTests {
    @Test("An extension that started signed out is signed in once the app is")
    func signInElsewhere() async throws {
        let scene = Scene()
        let appExtension = scene.client()
        var events = await appExtension.events.makeAsyncIterator()
        #expect(await appExtension.restore() == .signedOut(.notSignedIn))
        let app = try await scene.signedIn()
        #expect(try await appExtension.echo() == 200)
        let user = try #require(await app.state.user)
        #expect(await appExtension.state == .signedIn(user, isFresh: true))
        #expect(await events.next() == .signedIn(user))
        await app.signOut()
        try await app.signIn(.email(ben.email), password: ben.password)
        // A refresh finds the other sign-in, and says so.
        #expect(await failure { try await appExtension.refresh() } == .signedOut(.elsewhere))
        #expect(await appExtension.restore().user?.email == ben.email)
    }

    @Test(
        "A response that comes after the app's sign-out does not hide from the next refresh who is signed in by then",
        arguments: [ben.email, nil])
    func responseAfterSignOut(_ next: String?) async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        // So that the gateway goes on to take Ada's tokens.
        for _ in 0..<3 { scene.gateway.inject(.noConnection, at: "/logout") }
        #expect(await app.signOut() == false)
        if let next { try await app.signIn(.email(next), password: ben.password) }
        #expect(try await appExtension.update(name: "X").name == "X")
        #expect(await failure { try await appExtension.refresh() } == .signedOut(.elsewhere))
        #expect(scene.refreshes == 0)
        #expect(await scene.client().restore().user?.email == next)
    }

    @Test(
        "A refresh whose connection was lost goes on with the app's newest token: one before it would be reuse",
        arguments: SessionKind.allCases)
    func suspendedRefresh(kind: SessionKind) async throws {
        let stage = try await Stage(FakeBackend(), "ada")
        let (app, appExtension) = (try await stage.signedIn(kind), stage.client())
        await appExtension.restore()
        let hold = Hold()
        stage.transport.inject(.heldBefore(hold, then: .noConnection), at: kind.refreshPath)
        // The system suspends the extension, and the app refreshes meanwhile.
        let suspended = Task { try await appExtension.refresh() }
        await hold.reached()
        for _ in 0..<2 { try await app.refresh() }
        hold.release()
        try await suspended.value
        for client in [app, appExtension] {
            try await client.refresh()
            #expect(try await client.use(kind) == stage.user.email)
        }
    }

    @Test("A token that may not be the newest is not shown while the store cannot be read")
    func unreadRefresh() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        for _ in 0..<2 { try await app.refresh() }
        scene.clock.advance(by: 7200)
        store.fail(read: .failed("-25291"))
        #expect(await failure { _ = try await appExtension.echo() } == .storage("-25291"))
        store.fail()
        for client in [appExtension, app] { #expect(try await client.echo() == 200) }
        #expect(scene.gateway.openSessions.count == 1)
    }

    @Test("While an app may not ask the gateway, it takes tokens that another process has stored")
    func waitingForRetry() async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        scene.clock.advance(by: 7200)
        let refusal = GatewayError(name: "TooManyRequestsException", message: "Later.", status: 429, retryAfter: 3600)
        scene.gateway.inject(.refusal(refusal), at: refreshPath)
        #expect(await failure { _ = try await app.echo() } != nil)
        #expect(await failure { _ = try await app.echo() } != nil)
        #expect(try await appExtension.echo() == 200)
        #expect(try await app.echo() == 200)
        #expect(scene.refreshes == 2)
    }

    @Test("A confirmation that signs in stores the device of the store, and its token")
    func confirmedDevice() async throws {
        let scene = Scene()
        let first = try await scene.signedIn()
        func item() async throws -> JSONValue {
            try JSONDecoder().decode(JSONValue.self, from: #require(try await scene.store.read()))
        }
        let device = try #require(try await item()["deviceID"])
        await first.signOut()
        let tokens = #"{"access_token":"a","refresh_token":"r","expires_in":3600,"device_token":"d","user":{"id":"1"}}"#
        scene.gateway.inject(.response(status: 200, body: tokens), at: "/confirm")
        try await scene.client().confirm(.email("eve@example.com"), code: "1", password: ben.password)
        let stored = try await item()
        #expect(stored["deviceID"] == device && stored["deviceToken"] == "d")
    }

    @Test("An app that was signed out by another process is signed in by the next one, and keeps its reason until then")
    func reasonStays() async throws {
        let scene = Scene()
        let (app, appExtension) = (try await scene.signedIn(), scene.client())
        await appExtension.restore()
        scene.gateway.endSessions(of: ada.email)
        let error = await failure { try await appExtension.refresh() }
        guard case .signedOut(let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(await appExtension.restore() == .signedOut(reason))
        #expect(await failure { _ = try await appExtension.echo() } == .signedOut(reason))
        try await app.signIn(.email(ben.email), password: ben.password)
        #expect(await appExtension.restore().user?.email == ben.email)
    }

    @Test("A value that was read before a sign-in and its end brings nobody back after them")
    func staleRead() async throws {
        let store = HeldReads()
        let scene = Scene(store: store)
        let client = scene.client()
        await client.restore()
        let (login, read) = (Hold(), Hold())
        scene.gateway.inject(.heldAfter(login), at: "/login")
        let signIn = Task { try await client.signIn(.email(ben.email), password: ben.password) }
        await login.reached()
        _ = try await scene.signedIn()
        store.hold(read)
        let late = Task { await client.restore() }
        await read.reached()
        login.release()
        _ = try await signIn.value
        scene.gateway.endSessions(of: ben.email)
        _ = await failure { try await client.refresh() }
        read.release()
        _ = await late.value
        guard case .signedOut(.ended) = await client.state else {
            Issue.record("\(await client.state)")
            return
        }
    }

    @Test("MSAL-objc#821: a store that fails is locked by its state, reported once, and named by errors")
    func failingStore() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        let client = scene.client()
        var events = await client.events.makeAsyncIterator()
        store.fail(read: .failed("-34018"))
        #expect(await client.restore() == .locked)
        #expect(await events.next() == .notStored("-34018"))
        for _ in 0..<3 {
            #expect(await client.restore() == .locked)
            #expect(await failure { _ = try await client.echo() } == .storage("-34018"))
            #expect(await failure { try await client.refresh() } == .storage("-34018"))
            #expect(await failure { try await client.takeOver(from: []) } == .storage("-34018"))
            #expect(await client.signOut() == false)
        }
        store.fail(read: .failed("-25291"))
        #expect(await client.restore() == .locked)
        #expect(await events.next() == .notStored("-25291"))
        store.fail()
        #expect(try await client.echo() == 200)
        try await client.refresh()
        // Nothing was reported in between.
        #expect(await events.next() == .refreshed)
    }

    @Test("-25308, MSAL-objc#821: a locked device is locked by its state and by errors, and reports nothing")
    func lockedStore() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        let client = scene.client()
        var events = await client.events.makeAsyncIterator()
        store.fail(read: .locked)
        for _ in 0..<2 {
            #expect(await client.restore() == .locked)
            #expect(await failure { _ = try await client.echo() } == .deviceLocked)
            #expect(await failure { try await client.takeOver(from: []) } == .deviceLocked)
            #expect(await client.signOut() == false)
        }
        store.fail()
        try await client.refresh()
        #expect(await events.next() == .refreshed)
    }

    @Test("A store that fails after a sign-out leaves the reason, and nobody is signed in")
    func failsSignedOut() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        await client.signOut()
        store.fail(read: .failed("-34018"))
        #expect(await client.restore() == .signedOut(.requested))
        #expect(await failure { _ = try await client.echo() } == .signedOut(.requested))
    }
}
