import Cryptography
import HTTPTypes
import Pipeline
import Postgres
import Store
import Synchronization
import Telemetry
import TestSupport
import Testing

@testable import Accounts
@testable import PostgresStore

extension PostgresTests {
    /// The limits of several gateways, as their calls meet them.
    @Suite("Limits of several gateways")
    struct SharedLimits {
        private static let now: Int64 = 1_700_000_040_000
        private static let lockout = LockoutPolicy(after: 5, first: 60, longest: 3600, most: 100, forgetAfter: 86_400)

        private final class Time: Sendable {
            private let milliseconds = Mutex(SharedLimits.now)
            var now: Int64 { milliseconds.withLock { $0 } }
            func advance(seconds: Int64) { milliseconds.withLock { $0 += seconds * 1000 } }
        }

        private let fixture: RecordsFixture
        private let time = Time()

        init() async throws { fixture = try await RecordsFixture(PostgresLimits.migrations) }

        private func gateway(_ number: Int, _ budgets: BudgetLimits? = nil) -> AccountLimits {
            var settings = AccountLimitSettings()
            settings[.signIn] = budgets ?? BudgetLimits()
            settings.lockout = Self.lockout
            let records = PostgresLimits(fixture.stores[number % 2], clock: fixture.clock)
            return AccountLimits(
                settings: settings, key: Secret([UInt8](repeating: 3, count: 32)), records: records,
                logger: CapturedLog().logger, now: { [time] in time.now })
        }

        private static func signIn(_ name: String = "ada") -> LimitedCall {
            LimitedCall(budget: .signIn, account: name, clientAddress: "192.0.2.1")
        }

        private func isAdmitted(_ limits: AccountLimits, _ name: String = "ada") async -> Bool {
            do {
                limits.ended(try await limits.admit(Self.signIn(name)))
                return true
            } catch {
                return false
            }
        }

        @Test("Of guesses at once at three gateways no more than one each is let through beyond the policy's")
        func guesses() async throws {
            let gateways = (0..<3).map { gateway($0) }
            for limits in gateways { limits.share(among: { 3 }) }
            for round in 0..<20 {
                let name = "user-\(round)"
                let admitted = await withTaskGroup(of: AdmittedCall?.self) { group in
                    for guess in 0..<30 {
                        group.addTask { try? await gateways[guess % 3].admit(Self.signIn(name)) }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
                // All are under way until the last has been let through or refused.
                let count = admitted.count { $0 != nil }
                #expect((1...5 + 3).contains(count), "\(count)")
                for (index, call) in admitted.compactMap(\.self).enumerated() {
                    _ = await gateways[index % 3].failed(call)
                }
            }
        }

        @Test("A gateway alone lets as many guesses through at once as the policy says")
        func oneGateway() async throws {
            let limits = gateway(0)
            var admitted: [AdmittedCall] = []
            while let call = try? await limits.admit(Self.signIn()) { admitted.append(call) }
            #expect(admitted.count == 5)
            limits.share(among: { 2 })
            for call in admitted { limits.ended(call) }
            admitted = []
            while let call = try? await limits.admit(Self.signIn()) { admitted.append(call) }
            #expect(admitted.count == 2)
        }

        @Test("Calls of the window before at another gateway count from the first write on")
        func windows() async throws {
            let budgets = BudgetLimits(address: RateLimit(10, per: 60))
            let (first, second) = (gateway(0, budgets), gateway(1, budgets))
            for _ in 0..<10 { #expect(await isAdmitted(first)) }
            try await first.write()
            time.advance(seconds: 60)
            #expect(await isAdmitted(second))
            #expect(await isAdmitted(second), "it does not know yet")
            try await second.write()
            #expect(await !isAdmitted(second))
            #expect(try await fixture.stores[0].rows("SELECT key FROM limit_counts").count == 2, "no rows of nothing")
        }

        @Test("A name that was proven at one gateway gives nobody more guesses at another")
        func names() async throws {
            let (first, second) = (gateway(0), gateway(1))
            for name in ["ada", "ada@example.com"] {
                let call = Self.signIn(name)
                await first.succeeded(try await first.admit(call), call, as: "user-1")
            }
            for number in 0..<5 {
                let call = Self.signIn(number % 2 == 0 ? "ada" : "ada@example.com")
                var admitted = try await second.admit(call)
                #expect(await second.identify(&admitted, call, as: nil) == nil)
                _ = await second.failed(admitted)
            }
            for name in ["ada", "ada@example.com"] {
                let call = Self.signIn(name)
                guard var admitted = try? await second.admit(call) else { continue }
                #expect(await second.identify(&admitted, call, as: nil)?.cause == .lockout)
            }
        }

        @Test("A name that goes over to another account takes no failures along")
        func movedName() async throws {
            let (first, second) = (gateway(0), gateway(1))
            let call = Self.signIn("shared@example.com")
            for account in ["user-1", "user-2"] {
                await first.succeeded(try await first.admit(call), call, as: account)
                var admitted = try await second.admit(call)
                _ = await second.identify(&admitted, call, as: nil)
                #expect(admitted.accountKeys == [second.keys.failures(of: account)])
                second.ended(admitted)
            }
        }

        @Test("While the database is away nobody guesses, and nobody is told that a password is wrong")
        func away() async throws {
            let (store, log) = (fixture.stores[0], CapturedLog().logger)
            let limits = gateway(0)
            let names = AccountNames(
                key: Secret([1]), records: PostgresSessions(store, clock: fixture.clock), logger: log, now: { 0 })
            let accountGuard = LimitsAndAudit(
                limits: limits, audit: AuditTrail(log: nil, recent: RecentEvents(), webhook: nil), sync: nil,
                tally: AccountTally(), names: names)
            let fetcher = RecordedFetcher()
            let accounts = try Fixture.accounts(fetcher, accountGuard: accountGuard)
            try await store.pool.close()
            let answer = await accounts.answer(Fixture.login())
            #expect(answer.status == .serviceUnavailable && answer.reason?.code == "session-records-unavailable")
            #expect(answer.headers[.retryAfter] == "5")
            #expect(await fetcher.requests.isEmpty)
            let refresh = LimitedCall(budget: .refresh, account: "ada", clientAddress: "192.0.2.1")
            #expect(try await !limits.admit(refresh).isUncertain, "it guesses nothing")
        }
    }
}
