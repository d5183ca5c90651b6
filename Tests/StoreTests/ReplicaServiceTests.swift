import Logging
import Synchronization
import TestSupport
import Testing

@testable import Store

@Suite("A gateway among others")
struct ReplicaServiceTests {
    /// Where windows are opened for as long as the test lasts.
    private final class SlowRecords: ReplicaRecords {
        private let reports = Mutex(0)
        private let isOpening = Mutex(false)
        var reported: Int { reports.withLock { $0 } }

        func report(_ report: ReplicaReport) async throws { reports.withLock { $0 += 1 } }
        func end(_ id: String) async throws {}
        func all() async throws -> [Replica] { [] }
        func removeGone(silence: Int64) async throws {}
        func position() async throws -> ChangePosition { ChangePosition(origin: "o", mark: "1") }
        func confirmations(of position: ChangePosition, silence: Int64) async throws -> Confirmations {
            Confirmations(confirmed: 1, all: 1)
        }

        func takeUpLost() async throws -> [String] {
            let isFirst = isOpening.withLock { isOpening in
                defer { isOpening = true }
                return !isOpening
            }
            // The first is that of the start, before anything is served.
            if !isFirst { try await Task.sleep(for: .seconds(1000)) }
            return []
        }
    }

    @Test(
        "A gateway says that it is alive while it opens the windows of one that is lost", .timeLimit(.minutes(10)))
    func heartbeat() async throws {
        let records = SlowRecords()
        let service = ReplicaService(
            records, id: "a", name: "host", version: "1", configuration: "c", patience: 0,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        ) { nil }
        try await service.begin()
        #expect(records.reported == 1)
        let running = Task { await service.run() }
        defer { running.cancel() }
        while records.reported < 3 { await Task.yield() }
    }
}
