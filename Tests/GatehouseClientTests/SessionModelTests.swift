import Foundation
import GatehouseClientTesting
import Observation
import Testing

@testable import GatehouseClient

@Suite("The model for SwiftUI")
@MainActor
struct SessionModelTests {
    private static let user = User(fields: .object(["id": "a"]))

    private func client(signedIn: Bool) throws -> Gatehouse {
        var item = StoredItem(deviceID: "d")
        if signedIn {
            item.session = StoredSession(
                generation: UUID(), kind: .cognito, accessToken: Secret("a"), refreshToken: Secret("r"),
                receivedAt: Date(), expiresAt: Date(timeIntervalSinceNow: 3600), user: Self.user)
        }
        return Gatehouse(
            Configuration(url: try #require(URL(string: "https://api.example.com"))),
            store: MemoryStore(try JSONEncoder().encode(item)), transport: ScriptedTransport { _ in (204, .null) })
    }

    /// Waits until the model's state changes, as a view does.
    private func change(of model: SessionModel) async {
        await withCheckedContinuation { continuation in
            withObservationTracking {
                _ = model.state
            } onChange: {
                continuation.resume()
            }
        }
        // `onChange` comes before the change itself.
        await Task.yield()
    }

    private func follow(_ model: SessionModel, until isReached: (SessionState) -> Bool) async {
        while !isReached(model.state) { await change(of: model) }
    }

    @Test("It restores the session, and follows it", .timeLimit(.minutes(10)))
    func follows() async throws {
        let client = try client(signedIn: true)
        let model = SessionModel(client)
        #expect(model.state == .restoring)
        #expect(!model.isSignedIn)
        await follow(model) { $0 == .signedIn(Self.user, isFresh: true) }
        #expect(model.isSignedIn)
        #expect(model.user == Self.user)
        _ = await client.signOut()
        await follow(model) { $0 == .signedOut(.requested) }
        #expect(!model.isSignedIn)
        #expect(model.user == nil)
    }

    @Test("Nobody is signed in where nothing is stored", .timeLimit(.minutes(10)))
    func empty() async throws {
        let model = SessionModel(try client(signedIn: false))
        await follow(model) { $0 == .signedOut(.notSignedIn) }
        #expect(!model.isSignedIn)
    }

    @Test("An app that starts before the device is unlocked shows the user after that", .timeLimit(.minutes(10)))
    func unlocked() async throws {
        let store = FaultyStore()
        let scene = Scene(store: store)
        _ = try await scene.signedIn()
        store.fail(read: .locked)
        let model = SessionModel(scene.client())
        await follow(model) { $0 == .locked }
        store.fail()
        await follow(model) { $0.user != nil }
        #expect(model.user?.email == ada.email)
    }

    @Test("The client does not keep a model alive", .timeLimit(.minutes(10)))
    func released() async throws {
        let client = try client(signedIn: true)
        weak var model: SessionModel?
        do {
            let strong = SessionModel(client)
            await follow(strong) { $0.user != nil }
            model = strong
        }
        _ = await client.signOut()
        while model != nil { await Task.yield() }
        #expect(model == nil)
    }
}
