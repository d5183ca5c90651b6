import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("Stores that fail")
struct StoreTests {
    @Test("amplify-swift#3972, firebase-ios-sdk#9869: a start before the first unlock signs nobody out")
    func lockedAtLaunch() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        let before = store.data
        store.fail(read: .locked, write: .locked)
        let client = scene.client()
        #expect(await client.restore() == .locked)
        let error = await failure { _ = try await client.echo() }
        #expect(error == .deviceLocked)
        #expect(store.data == before)
        store.fail()
        #expect(await client.restore().user?.email == ada.email)
        #expect(try await client.echo() == 200)
    }

    @Test("MSAL-objc#821: a store that cannot be read signs nobody out, and nothing is deleted")
    func unreadableStore() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        let before = store.data
        store.fail(read: .failed("-34018"))
        let client = scene.client()
        if case .signedOut = await client.restore() { Issue.record("signed out") }
        #expect(store.data == before)
        store.fail()
        #expect(try await client.echo() == 200)
    }

    @Test("A sign-out while the device is locked is no success, and the session is there after the unlock")
    func signOutLocked() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        store.fail(read: .locked, write: .locked)
        let client = scene.client()
        #expect(await client.signOut() == false)
        store.fail()
        #expect(await client.signOut())
        #expect(scene.gateway.openSessions.isEmpty)
        #expect(storedMembers(store.data) == nil)
    }

    @Test("A device that is locked in use keeps the session, and refreshes after the unlock")
    func lockedInUse() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(read: .locked, write: .locked)
        #expect(try await client.echo() == 200)
        scene.clock.advance(by: 7200)
        let error = await failure { _ = try await client.echo() }
        #expect(error == .deviceLocked)
        #expect(await client.state.user?.email == ada.email)
        store.fail()
        #expect(try await client.echo() == 200)
    }

    @Test("Tokens that could not be stored are in use, and stored by the next use")
    func failedWrite() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        let before = store.data
        store.fail(write: .failed("no space is left"))
        try await client.refresh()
        #expect(store.data == before)
        #expect(try await client.echo() == 200)
        store.fail()
        #expect(try await client.echo() == 200)
        #expect(store.data != before)
        #expect(scene.refreshes == 1)
        // The newest tokens are stored.
        try await client.refresh()
        try await scene.client().refresh()
        #expect(scene.gateway.openSessions.count == 1)
    }

    @Test("Two refreshes whose tokens could not be stored leave a session that goes on after the store works again")
    func failedWrites() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("no space is left"))
        for _ in 0..<3 {
            scene.clock.advance(by: 7200)
            #expect(try await client.echo() == 200)
        }
        store.fail()
        #expect(try await client.echo() == 200)
        scene.clock.advance(by: 7200)
        #expect(try await scene.client().echo() == 200)
        #expect(try await client.echo() == 200)
    }

    @Test("A sign-in while the store is locked stays, and does not bring the stored user back")
    func signInLocked() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        store.fail(read: .locked, write: .locked)
        let client = scene.client()
        try await client.signIn(.email(ben.email), password: ben.password)
        store.fail()
        scene.clock.advance(by: 7200)
        #expect(try await client.echo() == 200)
        #expect(await client.state.user?.email == ben.email)
        #expect(await scene.client().restore().user?.email == ben.email)
    }

    @Test("supabase-swift#292: an item with members of a later version is read, and one without optional ones too")
    func otherVersions() async throws {
        let store = MemoryStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        let data = try #require(store.read())
        guard case .object(var item) = try JSONDecoder().decode(JSONValue.self, from: data),
            case .object(var session)? = item["session"]
        else {
            Issue.record("no item")
            return
        }
        item["version"] = nil
        item["added_later"] = .array(["x"])
        session["added_later"] = .object(["a": .null])
        session["idToken"] = nil
        item["session"] = .object(session)
        let other = MemoryStore(try JSONEncoder().encode(JSONValue.object(item)))
        let client = scene.client(store: other)
        #expect(await client.restore().user?.email == ada.email)
        try await client.refresh()
        #expect(try await client.echo() == 200)
    }

    @Test("supabase-swift#292: an item that cannot be decoded is said to be, and stays until the next sign-in")
    func undecodable() async throws {
        let junk = Data("{\"session\":\"of another app\"".utf8)
        let store = MemoryStore(junk)
        let scene = Scene(store: store)
        let client = scene.client()
        #expect(await client.restore() == .signedOut(.unreadable))
        #expect(store.read() == junk)
        try await client.signIn(.email(ada.email), password: ada.password)
        #expect(await scene.client().restore().user?.email == ada.email)
    }

    @Test("MSAL-objc#1839: a start without a network is signed in, with the expired token too")
    func offline() async throws {
        let scene = Scene()
        _ = try await scene.signedIn()
        let client = scene.client()
        #expect(await client.restore().user?.email == ada.email)
        scene.clock.advance(by: 7200)
        let later = scene.client()
        #expect(await later.restore().user?.email == ada.email)
        for _ in 0..<2 { scene.gateway.inject(.noConnection) }
        let error = await failure { _ = try await later.echo() }
        guard case .network = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        guard case .signedIn(let user, isFresh: false) = await later.state else {
            Issue.record("not signed in")
            return
        }
        #expect(user.email == ada.email)
        scene.clock.advance(by: 2)
        #expect(try await later.echo() == 200)
        guard case .signedIn(_, isFresh: true) = await later.state else {
            Issue.record("not fresh")
            return
        }
    }

    @Test("A file keeps the session for the next process, and only its owner can read it")
    func file() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("session.json")
        let scene = Scene(store: FileStore(file))
        _ = try await scene.signedIn()
        let attributes = try FileManager.default.attributesOfItem(atPath: file.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let next = scene.client(store: FileStore(file))
        #expect(await next.restore().user?.email == ada.email)
        try await next.refresh()
        await next.signOut()
        #expect(await scene.client(store: FileStore(file)).restore() == .signedOut(.notSignedIn))
    }
}
