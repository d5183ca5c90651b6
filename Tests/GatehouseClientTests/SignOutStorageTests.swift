import Foundation
import GatehouseClient
import GatehouseClientTesting
import Testing

@Suite("Sign-outs that the store refuses")
struct SignOutStorageTests {
    private let signOuts = FaultyStore()

    private func faulty() -> FaultyStore { FaultyStore(signOuts: signOuts) }

    @Test(
        "The next launch shows nobody, and removes the session as soon as the store lets it", arguments: [false, true])
    func nextLaunch(_ isOnline: Bool) async throws {
        let store = faulty()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("the disk does not answer"))
        if !isOnline { for _ in 0..<3 { scene.gateway.inject(.noConnection, at: "/logout") } }
        #expect(await client.signOut() == isOnline)
        #expect(storedMembers(store.data) != nil)

        let next = scene.client()
        #expect(await next.restore() == .signedOut(.requested))
        #expect(await failure { _ = try await next.echo() } == .signedOut(.requested))
        store.fail()
        #expect(await next.restore() == .signedOut(.requested))
        #expect(storedMembers(store.data) == nil)
        #expect(signOuts.data == nil)
        #expect(await scene.client().restore() == .signedOut(.notSignedIn))
        #expect(scene.refreshes == 0)
    }

    @Test("The process that signed out does not read the session back, and another sign-in replaces it")
    func sameProcess() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("the disk does not answer"))
        await client.signOut()
        #expect(await client.restore() == .signedOut(.requested))
        #expect(await failure { _ = try await client.echo() } == .signedOut(.requested))
        store.fail()
        try await client.signIn(.email(ben.email), password: ben.password)
        #expect(await scene.client().restore().user?.email == ben.email)
    }

    @Test("The same process removes the session with its next use of the store")
    func retried() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("the disk does not answer"))
        await client.signOut()
        store.fail()
        #expect(await client.restore() == .signedOut(.requested))
        #expect(storedMembers(store.data) == nil)
    }

    @Test("Where only a shorter value is refused, as on a full disk, the whole value is deleted")
    func deletion() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("no space is left"), deletion: false)
        await client.signOut()
        #expect(store.data == nil)
        #expect(await scene.client().restore() == .signedOut(.notSignedIn))
    }

    @Test("If it is not known whether a stored user has signed out, nobody is shown")
    func unknown() async throws {
        let store = faulty()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        signOuts.fail(read: .failed("it does not answer"))
        let next = scene.client()
        #expect(await next.restore() == .locked)
        #expect(await failure { _ = try await next.echo() } == .storage("it does not answer"))
        signOuts.fail()
        #expect(await next.restore().user?.email == ada.email)
    }

    @Test("An extension without a network that was signed in hears of the sign-out")
    func otherProcess() async throws {
        let store = faulty()
        let scene = Scene(store: store)
        let app = try await scene.signedIn()
        let appExtension = scene.client()
        #expect(await appExtension.restore().user != nil)
        store.fail(write: .failed("the disk does not answer"))
        for _ in 0..<9 { scene.gateway.inject(.noConnection) }
        await app.signOut()
        scene.clock.advance(by: 7200)
        #expect(await failure { _ = try await appExtension.echo() } == .signedOut(.elsewhere))
        #expect(await appExtension.state == .signedOut(.elsewhere))
    }

    @Test("A user whom another one has replaced in use is not shown after that one's sign-out")
    func replacedUser() async throws {
        let store = faulty()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("the disk does not answer"))
        try await client.signIn(.email(ben.email), password: ben.password)
        await client.signOut()
        store.fail()
        #expect(await scene.client().restore() == .signedOut(.requested))
    }

    @Test("A sign-in after the sign-out is shown, whatever was noted before")
    func signedInAgain() async throws {
        let store = faulty()
        let scene = Scene(store: store)
        let client = try await scene.signedIn()
        store.fail(write: .failed("the disk does not answer"))
        await client.signOut()
        store.fail()
        try await client.signIn(.email(ada.email), password: ada.password)
        #expect(await scene.client().restore().user?.email == ada.email)
    }

    @Test("A file whose replacement cannot be written is deleted")
    func file() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("session.json")
        let scene = Scene(store: FileStore(file))
        let client = try await scene.signedIn()
        // A directory of that name: the new file cannot be opened.
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("session.json.new"), withIntermediateDirectories: false)
        await client.signOut()
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test("A file that can neither be replaced nor deleted has a note of the sign-out beside it")
    func noteBeside() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("session.json")
        let scene = Scene(store: FileStore(file))
        let client = try await scene.signedIn()
        // A directory of that name: nobody can have the lock.
        let lock = directory.appendingPathComponent("session.json.lock")
        try FileManager.default.removeItem(at: lock)
        try FileManager.default.createDirectory(at: lock, withIntermediateDirectories: false)
        await client.signOut()
        #expect(storedMembers(try Data(contentsOf: file)) != nil)
        #expect(await scene.client(store: FileStore(file)).restore() == .signedOut(.requested))
        try FileManager.default.removeItem(at: lock)
        #expect(await scene.client(store: FileStore(file)).restore() == .signedOut(.requested))
        #expect(storedMembers(try Data(contentsOf: file)) == nil)
        #expect(await scene.client(store: FileStore(file)).restore() == .signedOut(.notSignedIn))
    }
}
