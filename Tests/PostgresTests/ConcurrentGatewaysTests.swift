import Store
import Testing

@testable import PostgresStore

extension PostgresTests {
    /// Two pools on one database, as two gateways have them: each writes on several connections at once.
    @Suite("Concurrent gateways of one database")
    struct ConcurrentGateways {
        private static let now: Int64 = 1_700_000_000
        private static let rounds = 100
        /// Writers in each round, half of them at each gateway.
        private static let writers = 6

        private static func stores() async throws -> [PostgresStore] {
            let database = try await RecordsDatabase()
            return [database.store, database.other()]
        }

        /// Runs `body` for each writer at the same time.
        private func race<Value: Sendable>(
            _ stores: [PostgresStore], _ body: @escaping @Sendable (PostgresStore, Int) async throws -> Value
        ) async throws -> [Value] {
            try await withThrowingTaskGroup(of: Value.self) { group in
                for number in 0..<Self.writers {
                    group.addTask { try await body(stores[number % stores.count], number) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }

        private static func session(_ family: [UInt8], generation: Int64 = 1, token: [UInt8] = [1]) -> SessionRecord {
            SessionRecord(
                family: family, poolID: "p", subject: "ada", originID: "o", deviceID: nil, platform: nil,
                generation: generation, token: token, signedInAt: now, refreshedAt: now, endsAt: now + 1000)
        }

        @Test("Of refreshes with one token one takes the step, and the others see its answer")
        func refreshes() async throws {
            let stores = try await Self.stores()
            // The first round begins the session.
            for round in 0..<Self.rounds {
                let steps = try await race(stores) { store, writer in
                    try await PostgresSessions(store).advance(
                        to: Self.session([1], generation: Int64(round), token: [UInt8(writer)]))
                }
                let known = try #require(try await PostgresSessions(stores[1]).session([1]))
                #expect(steps.count { $0 == .taken } == 1)
                #expect(steps.count { $0 == .overtaken(known) } == Self.writers - 1)
            }
        }

        @Test("Of many who end sessions one gets each, as it was last, also beside refreshes")
        func ends() async throws {
            let stores = try await Self.stores()
            for round in 0..<Self.rounds {
                let families = (0..<3).map { [UInt8(round), $0] }
                for family in families {
                    let record = Self.session(family)
                    #expect(try await PostgresSessions(stores[0]).begin(record, redeeming: nil))
                }
                let results = try await race(stores) { store, writer in
                    let records = PostgresSessions(store)
                    switch writer {
                    case 0, 1:
                        let step = try await records.advance(
                            to: Self.session(families[writer], generation: 2, token: [2]))
                        return (taken: step == .taken ? families[writer] : nil, ended: [SessionRecord]())
                    case 2, 3: return (nil, try await records.end(family: nil, originIDs: ["o"], poolID: "p", at: 9))
                    default: return (nil, try await records.endAll(subject: "ada", poolID: "p", except: nil, at: 9))
                    }
                }
                let ended = results.flatMap(\.ended)
                #expect(ended.map(\.family).sorted { $0[1] < $1[1] } == families)
                for record in ended {
                    let isTaken = results.contains { $0.taken == record.family }
                    #expect(
                        record == Self.session(record.family, generation: isTaken ? 2 : 1, token: [isTaken ? 2 : 1]))
                    let left = try await PostgresSessions(stores[1]).session(record.family)
                    #expect(left?.endedAt == 9 && left?.token == [])
                }
            }
        }

        @Test("Of sessions for one authorization code one begins, also beside those who only use it up")
        func authorizationCodes() async throws {
            let stores = try await Self.stores()
            for round in 0..<Self.rounds {
                let (hash, family) = ([3, UInt8(round)], [4, UInt8(round)])
                let code = AuthorizationCodeRecord(
                    hash: hash, signInID: hash, poolID: "p", result: [1], family: family, expiresAt: Self.now + 60)
                #expect(try await PostgresAuthorizationCodes(stores[0]).add(code, now: Self.now))
                let uses = try await race(stores) { store, writer in
                    if writer == round % 10 {
                        let codes = PostgresAuthorizationCodes(store)
                        return (writer, try await codes.use(hash, poolID: "p", now: Self.now))
                    }
                    let record = Self.session(family, token: [UInt8(writer)])
                    return (writer, try await PostgresSessions(store).begin(record, redeeming: hash))
                }
                let winners = uses.filter(\.1).map(\.0)
                #expect(winners.count == 1)
                let token = try await PostgresSessions(stores[1]).session(family)?.token
                #expect(token == (winners == [round % 10] ? nil : winners.map(UInt8.init)))
            }
        }

        @Test("Codes that ended without use are taken once each, and nobody waits for who takes others")
        func unused() async throws {
            let stores = try await Self.stores()
            for number in 0..<120 as Range<UInt8> {
                let code = AuthorizationCodeRecord(
                    hash: [number], signInID: [number], poolID: "p", result: [number], family: [number], expiresAt: 9)
                #expect(try await PostgresAuthorizationCodes(stores[0]).add(code, now: 0))
            }
            var taken: [[UInt8]] = []
            while taken.count < 120 {
                let results = try await race(stores) { store, _ in
                    try await PostgresAuthorizationCodes(store).takeUnused(poolID: "p", now: 9, limit: 7)
                }
                #expect(results.allSatisfy { $0.count <= 7 } && !results.allSatisfy(\.isEmpty))
                taken += results.flatMap(\.self)
            }
            #expect(taken.count == 120 && Set(taken).count == 120)
        }

        @Test("Those who keep the same names and revocations in any order, and forget them, wait for each other in one")
        func orders() async throws {
            let stores = try await Self.stores()
            let values = (0..<40).map { "v\($0)" }
            for round in 0..<Self.rounds {
                _ = try await race(stores) { store, writer in
                    let records = values.shuffled().map {
                        RevocationRecord(issuer: "i", claim: "jti", value: $0, endsAt: Int64(round * 10 + writer))
                    }
                    try await PostgresRevocations(store).keep(records)
                    let sessions = PostgresSessions(store)
                    try await sessions.note(values.shuffled(), of: "ada", poolID: "p", endsAt: Self.now)
                    if writer == 5 { try await sessions.forget(subject: "ada", poolID: "p") }
                }
                let ends = try await PostgresRevocations(stores[0]).all(now: 0).map(\.endsAt)
                #expect(ends == Array(repeating: Int64(round * 10 + 5), count: values.count))
            }
        }
    }
}
