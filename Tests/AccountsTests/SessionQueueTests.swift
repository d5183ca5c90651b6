import Locking
import Pipeline
import Testing

@testable import Accounts

@Suite("One refresh of a session at a time")
struct SessionQueueTests {
    private static let refused = Refusal.retryLater(.serviceUnavailable, after: 1, reason: .account(.refreshUnderWay))

    /// The work of a test: how much of one session is under way at most, and the order in which it began.
    private final class Journal: Sendable {
        private struct State {
            var underWay: [UInt8: Int] = [:]
            var most = 0
            var begun: [Int] = []
        }
        private let state = Locked(State())

        var most: Int { state.withLock { $0.most } }
        var begun: [Int] { state.withLock { $0.begun } }

        func begin(_ family: UInt8, _ number: Int) {
            state.withLock { state in
                state.underWay[family, default: 0] += 1
                state.most = max(state.most, state.underWay[family] ?? 0)
                state.begun.append(number)
            }
        }

        func end(_ family: UInt8) { state.withLock { $0.underWay[family, default: 0] -= 1 } }
    }

    /// Work waits here until it is opened.
    private final class Gate: Sendable {
        private let stream = AsyncStream<Void>.makeStream()

        func open() { stream.continuation.finish() }

        func wait() async { for await _ in stream.stream {} }
    }

    @Test("Of many for one session one is at work at a time, and each has its turn")
    func oneAtATime() async {
        let (queue, journal) = (SessionQueue(), Journal())
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    let family = UInt8(number % 3)
                    try? await queue.alone([family]) { () async throws(Refusal) in
                        journal.begin(family, number)
                        await Task.yield()
                        journal.end(family)
                    }
                }
            }
        }
        #expect(journal.most == 1)
        #expect(journal.begun.sorted() == Array(0..<200))
        #expect(queue.isEmpty)
    }

    @Test("Who comes first is served first, and another session waits for nobody")
    func order() async throws {
        let (queue, journal, gate) = (SessionQueue(), Journal(), Gate())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                group.addTask {
                    try await queue.alone([1]) { () async throws(Refusal) in
                        journal.begin(1, number)
                        if number == 0 { await gate.wait() }
                        journal.end(1)
                    }
                }
                // The next one comes when this one has joined.
                while queue.count(of: [1]) <= number { await Task.yield() }
            }
            try await queue.alone([2]) { () async throws(Refusal) in journal.begin(2, 9) }
            #expect(journal.begun == [0, 9])
            gate.open()
            try await group.waitForAll()
        }
        #expect(journal.begun == [0, 9, 1, 2, 3])
    }

    @Test("Whoever fails, or was cancelled while it waited, lets the next one go on")
    func failures() async throws {
        let (queue, journal, gate) = (SessionQueue(), Journal(), Gate())
        let first = Task {
            try await queue.alone([1]) { () async throws(Refusal) in
                await gate.wait()
                throw Self.refused
            }
        }
        while queue.count(of: [1]) < 1 { await Task.yield() }
        let second = Task { try await queue.alone([1]) { () async throws(Refusal) in journal.begin(1, 2) } }
        while queue.count(of: [1]) < 2 { await Task.yield() }
        second.cancel()
        gate.open()
        await #expect(throws: Refusal.self) { try await first.value }
        // A refresh goes on though its client has gone: Cognito may have rotated.
        try await second.value
        try await queue.alone([1]) { () async throws(Refusal) in journal.begin(1, 3) }
        #expect(journal.begun == [2, 3])
        #expect(queue.isEmpty)
    }
}
