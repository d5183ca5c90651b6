import Cryptography
import Encoding
import HTTPTypes
import Pipeline
import Store
import TestSupport
import Testing

@testable import Accounts
@testable import PostgresStore

/// Several gateways, and a token whose successor was never used.
extension PostgresTests.RefreshTurnSuite {
    private static let later = Fixture.now + 61

    /// - Returns: the successor, whose answer is stored no more.
    private func lost(_ scene: Scene) async throws -> Secret {
        let gateway = try scene.gateway(RecordedFetcher(Fixture.tokens(refreshToken: "rotated")))
        let first = try await gateway.answer(Scene.request())
        try await scene.database.store.run("UPDATE sessions SET answer = NULL")
        return Secret(try #require(first.json["refresh_token"]?.stringValue))
    }

    @Test("Of many who show the parent of an unused token at three gateways, one asks Cognito with the unused one")
    func lostSuccessor() async throws {
        let scene = try await Scene()
        let successor = try await lost(scene)
        let fetcher = GatedFetcher(Fixture.tokens(refreshToken: nil))
        let pauses = Pauses()
        let gateways = try (0..<3).map { _ in try scene.gateway(fetcher, pauses, now: Self.later) }
        let request = try Scene.request()
        let answers = await withTaskGroup { group in
            for number in 0..<6 { group.addTask { await gateways[number % 3].answer(request) } }
            while pauses.waits.count < 2 { await Task.yield() }
            await fetcher.open()
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(await fetcher.calls == 1)
        #expect(answers.count == 6 && answers.allSatisfy { $0.status == .ok })
        #expect(answers.allSatisfy { $0.json["refresh_token"]?.stringValue == successor.exposeText() })
        let stored = try await scene.stored()
        #expect(stored?.generation == 1 && stored?.refreshedAt == Self.later)
        // Nobody's lease is left: the successor is exchanged at once.
        let next = RecordedFetcher(Fixture.tokens(refreshToken: "next"))
        #expect(try await scene.gateway(next, now: Self.later).answer(Fixture.refresh(successor)).status == .ok)
        #expect(await next.bodies.map { $0["RefreshToken"]?.stringValue } == ["rotated"])
        #expect(try await scene.stored()?.generation == 2)
    }

    @Test("While one gateway gives a token again, another that exchanges it waits, and goes on with the newest")
    func usedMeanwhile() async throws {
        let scene = try await Scene()
        let successor = try await lost(scene)
        let (gated, pauses) = (GatedFetcher(Fixture.tokens(refreshToken: "second")), Pauses())
        let slow = try scene.gateway(gated, now: Self.later)
        let request = try Scene.request()
        async let again = slow.answer(request)
        while await gated.calls < 1 { await Task.yield() }
        let fetcher = RecordedFetcher(Fixture.tokens(refreshToken: "third"))
        let other = try scene.gateway(fetcher, pauses, now: Self.later)
        async let next = other.answer(Fixture.refresh(successor))
        while pauses.waits.isEmpty { await Task.yield() }
        #expect(await fetcher.requests.isEmpty, "two calls with one token would look like reuse")
        await gated.open()
        #expect(await again.status == .ok)
        #expect(await next.status == .ok)
        #expect(await fetcher.bodies.map { $0["RefreshToken"]?.stringValue } == ["second"])
        #expect(try await scene.stored()?.generation == 2)
    }
}
