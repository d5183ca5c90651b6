import Foundation
import Keys
import Logging
import Pipeline
import Store
import Testing

@testable import Postgres
@testable import PostgresStore

extension PostgresTests {
    /// Services as gateways have them, each with its own connections.
    @Suite("Revocations of several gateways")
    struct RevocationServices {
        private static let issuer = "https://issuer.example"

        /// A gateway's list of revocations, with the task that follows the database.
        private final class Gateway: Sendable {
            let service: RevocationService
            /// An element after each change of the list.
            private let published: AsyncStream<Void>
            private let following: Task<Void, Never>

            init(_ settings: PostgresSettings, size: Int = 3, listens: Bool = true, clock: any RecordClock) async throws
            {
                let store = PostgresStore(PostgresPool(settings, size: size))
                let (published, publisher) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
                self.published = published
                let listener = listens ? PostgresListener(settings, channel: PostgresRevocations.channel) : nil
                service = RevocationService(
                    records: PostgresRevocations(store, clock: clock, listener: listener), maximumCount: 100_000,
                    logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), now: { 0 },
                    revocationTime: { 0 }, publish: { publisher.yield() })
                try await service.follow()
                following = Task { [service] in await service.run() }
            }

            deinit { following.cancel() }

            /// Returns when the database announces changes, or does not.
            func notices(_ notice: ChangeNotice) async {
                while service.status.notice != notice { try? await Task.sleep(for: .milliseconds(1)) }
            }

            func knows(_ id: String) async {
                let revocation = RevocationServices.revocation(id)
                if service.current.includes(revocation) { return }
                for await _ in published where service.current.includes(revocation) { return }
            }
        }

        private static func revocation(_ id: String) -> Revocation {
            Revocation(issuer: issuer, .tokenID(id), endsAt: 1000)
        }

        private func gateways(_ settings: PostgresSettings, listens: Bool = true) async throws -> [Gateway] {
            try await PostgresStore(PostgresPool(settings, size: 1)).migrate()
            var gateways: [Gateway] = []
            for _ in 0..<3 {
                gateways.append(try await Gateway(settings, listens: listens, clock: LimitedClock()))
            }
            return gateways
        }

        @Test("What one gateway revokes the others know, by a message or by asking", arguments: [true, false])
        func all(listens: Bool) async throws {
            let gateways = try await gateways(try await RecordsDatabase().settings, listens: listens)
            for gateway in gateways { await gateway.notices(listens ? .notify : .poll) }
            for (number, gateway) in gateways.enumerated() {
                try await gateway.service.revoke([Self.revocation("r\(number)")])
                for other in gateways { await other.knows("r\(number)") }
            }
        }

        @Test(
            "Behind a pooler in transaction mode no message arrives, and gateways ask",
            .enabled(if: Pooler.program != nil))
        func pooler() async throws {
            let server = try PostgresServer.shared.get()
            var settings = try await RecordsDatabase().settings
            let pooler = try Pooler(before: server)
            settings.hosts = [PostgresSettings.Host("127.0.0.1", port: pooler.port)]
            settings.hasPooler = true
            let gateways = try await gateways(settings)
            try await gateways[0].service.revoke([Self.revocation("a")])
            for gateway in gateways { await gateway.knows("a") }
            #expect(gateways.allSatisfy { $0.service.status.notice == .poll })
            _ = pooler
        }

        @Test("After the server was killed, gateways listen again and know what was revoked meanwhile")
        func restart() async throws {
            let server = try PostgresServer()
            var settings = server.settings()
            // A machine that is busy may take longer to recover than a gateway would wait.
            settings.timeLimits.response = .seconds(15)
            let gateways = try await gateways(settings)
            for gateway in gateways { await gateway.notices(.notify) }
            try server.kill()
            for gateway in gateways { await gateway.notices(.poll) }
            // Held by this gateway alone until the server is back.
            await #expect(throws: (any Error).self) { try await gateways[0].service.revoke([Self.revocation("away")]) }
            try server.start()
            for gateway in gateways {
                await gateway.knows("away")
                await gateway.notices(.notify)
            }
            try await gateways[1].service.revoke([Self.revocation("back")])
            for gateway in gateways { await gateway.knows("back") }
        }

        @Test("What a fail-over has lost the gateways store again")
        func lost() async throws {
            let database = try await RecordsDatabase()
            let gateways = try await gateways(database.settings)
            try await gateways[0].service.revoke([Self.revocation("a"), Self.revocation("b")])
            for gateway in gateways { await gateway.knows("b") }
            // A restored database: the rows are gone, and all connections are other ones.
            try await database.store.run("DELETE FROM revocations WHERE value = 'b'")
            for gateway in gateways { await gateway.notices(.notify) }
            try await database.store.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """)
            let records = PostgresRevocations(database.store)
            while try await records.all(now: 0).map(\.value) != ["a", "b"] {
                try await Task.sleep(for: .milliseconds(1))
            }
        }

        @Test(
            "How long a revocation takes to all gateways beside refreshes",
            .enabled(if: ProcessInfo.processInfo.environment["GATEHOUSE_MEASURE"] != nil), arguments: [true, false])
        func latency(listens: Bool) async throws {
            let settings = try await RecordsDatabase().settings
            let gateways = try await gateways(settings, listens: listens)
            for gateway in gateways { await gateway.notices(listens ? .notify : .poll) }
            let load = Task { try await Self.refresh(settings, perSecond: 1000) }
            var times: [Duration] = []
            for number in 0..<300 {
                let began = ContinuousClock.now
                try await gateways[0].service.revoke([Self.revocation("r\(number)")])
                let written = ContinuousClock.now
                for gateway in gateways.dropFirst() { await gateway.knows("r\(number)") }
                times.append(.now - began)
                if number < 3 { print("written after \(written - began)") }
                try await Task.sleep(for: .milliseconds(Int.random(in: 5...25)))
            }
            load.cancel()
            let count = (try? await load.value) ?? 0
            times.sort()
            print(
                "listens \(listens): p50 \(times[150]), p99 \(times[297]), longest \(times[299]);",
                "\(count) refreshes beside it")
        }

        /// Refreshes sessions at a rate until cancelled.
        private static func refresh(_ settings: PostgresSettings, perSecond: Int) async throws -> Int {
            let store = PostgresStore(PostgresPool(settings, size: 8))
            let sessions = PostgresSessions(store)
            func session(_ number: Int) -> SessionRecord {
                SessionRecord(
                    family: [UInt8(number % 250), UInt8(number / 250 % 4)], poolID: "p", subject: "ada", originID: "o",
                    deviceID: nil, platform: nil, generation: Int64(number), token: [1], signedInAt: 1, refreshedAt: 1,
                    endsAt: 1000)
            }
            var number = 0
            let began = ContinuousClock.now
            while !Task.isCancelled {
                let due = Int((ContinuousClock.now - began) / .seconds(1) * Double(perSecond))
                let batch = number..<max(number, min(due, number + 64))
                try? await withThrowingTaskGroup(of: Void.self) { group in
                    for number in batch { group.addTask { _ = try await sessions.advance(to: session(number)) } }
                    try await group.waitForAll()
                }
                number = batch.upperBound
                if batch.isEmpty { try? await Task.sleep(for: .milliseconds(1)) }
            }
            return number
        }
    }
}
