import Foundation
import GatehouseClientTesting
import Testing

@testable import GatehouseClient

@Suite("Proof of presence")
struct BiometricsTests {
    /// A clock that a test sets, and a dialogue that counts.
    private final class Dialogue: ClientClock, @unchecked Sendable {
        // Unchecked: the fields are only used under `lock`.
        private let lock = NSLock()
        private var seconds: TimeInterval = 1000
        private var answers: [Bool] = []
        private var count = 0

        var now: Date { Date(timeIntervalSince1970: 0) }
        var uptime: TimeInterval { lock.withLock { seconds } }
        var asked: Int { lock.withLock { count } }
        func pause(seconds: TimeInterval) async throws { throw CancellationError() }
        func pass(_ interval: TimeInterval) { lock.withLock { seconds += interval } }
        func will(_ answer: Bool...) { lock.withLock { answers += answer } }

        func ask() -> Bool {
            lock.withLock {
                count += 1
                return answers.isEmpty ? true : answers.removeFirst()
            }
        }
    }

    private let dialogue = Dialogue()

    private func biometrics(goodFor: TimeInterval = 60) -> Biometrics {
        Biometrics(goodFor: goodFor, clock: dialogue) { [dialogue] in dialogue.ask() }
    }

    @Test("A proof is good for its time, by the uptime")
    func goodFor() async throws {
        let biometrics = biometrics()
        try await biometrics.confirm()
        dialogue.pass(59.9)
        try await biometrics.confirm()
        #expect(dialogue.asked == 1)
        dialogue.pass(0.1)
        try await biometrics.confirm()
        #expect(dialogue.asked == 2)
    }

    @Test("A user who refuses is not present, and is asked again at the next use")
    func refused() async throws {
        let biometrics = biometrics()
        dialogue.will(false)
        await #expect(throws: GatehouseError.notPresent) { try await biometrics.confirm() }
        try await biometrics.confirm()
        #expect(dialogue.asked == 2)
    }

    @Test("A refusal after the time is no proof")
    func refusedLater() async throws {
        let biometrics = biometrics()
        dialogue.will(true, false)
        try await biometrics.confirm()
        dialogue.pass(61)
        await #expect(throws: GatehouseError.notPresent) { try await biometrics.confirm() }
    }

    @Test("With a time of 0 each use asks")
    func always() async throws {
        let biometrics = biometrics(goodFor: 0)
        try await biometrics.confirm()
        try await biometrics.confirm()
        #expect(dialogue.asked == 2)
    }

    @Test("A forgotten proof is asked for again")
    func forgotten() async throws {
        let biometrics = biometrics()
        try await biometrics.confirm()
        await biometrics.forget()
        try await biometrics.confirm()
        #expect(dialogue.asked == 2)
    }

    @Test("Uses at the same time share one dialogue")
    func shared() async throws {
        let (shown, show) = AsyncStream<Void>.makeStream()
        let (answered, answer) = AsyncStream<Void>.makeStream()
        let biometrics = Biometrics(goodFor: 60, clock: dialogue) { [dialogue] in
            show.finish()
            for await _ in answered {}
            return dialogue.ask()
        }
        async let first: Void = biometrics.confirm()
        for await _ in shown {}
        async let second: Void = biometrics.confirm()
        answer.finish()
        _ = try await (first, second)
        #expect(dialogue.asked == 1)
    }

    @Test("Without a proof no request leaves the device")
    func session() async throws {
        let transport = ScriptedTransport { _ in (200, .object(["id": "a"])) }
        let item = StoredItem(
            deviceID: "d",
            session: StoredSession(
                generation: UUID(), kind: .cognito, accessToken: Secret("a"), refreshToken: Secret("r"),
                receivedAt: .distantPast, expiresAt: .distantFuture, user: User(fields: .object(["id": "a"]))))
        dialogue.will(false)
        let client = Gatehouse(
            Configuration(url: try #require(URL(string: "https://api.example.com"))),
            store: MemoryStore(try JSONEncoder().encode(item)), transport: transport, presence: biometrics())
        await #expect(throws: GatehouseError.notPresent) { try await client.me() }
        #expect(transport.sent.isEmpty)
        #expect(await client.state.user?.id == "a")
    }
}
