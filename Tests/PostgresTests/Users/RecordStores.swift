import Foundation
import Locking
import PostgresStore
import Store

@testable import Store

/// The stores that have all records. A test of records that is the same for each of them takes it as its argument.
enum RecordStores: String, CaseIterable, Sendable {
    case sqlite, postgres

    static let installed = allCases.filter { $0 == .sqlite || PostgresServer.isInstalled }

    /// The records of a database of the test's own, as two gateways have them open.
    func open() async throws -> SharedRecords {
        switch self {
        case .sqlite:
            let directory = NSTemporaryDirectory() + "gatehouse-records-" + UUID().uuidString
            let stores = try [GatewayStore.open(in: directory), GatewayStore.open(in: directory)]
            return SharedRecords(stores.map(\.records)) { time in
                for store in stores { store.pruningClock.withLock { $0 = PruningClock(newest: time) { 0 } } }
            } close: {
                for store in stores { try? store.close() }
                try? FileManager.default.removeItem(atPath: directory)
            }
        case .postgres:
            let database = try await RecordsDatabase()
            let clock = ScriptedRecordClock()
            return SharedRecords([database.store, database.other()].map { GatewayRecords($0, clock) }) { time in
                clock.believe(upTo: time)
            }
        }
    }
}

extension GatewayRecords {
    init(_ store: PostgresStore, _ clock: any RecordClock) {
        self.init(
            sessions: PostgresSessions(store, clock: clock),
            directSessions: PostgresDirectSessions(store, clock: clock),
            passwordChanges: PostgresPasswordChanges(store), users: PostgresUsers(store, clock: clock),
            codes: PostgresAuthorizationCodes(store, clock: clock),
            revocations: PostgresRevocations(store, clock: clock), limits: PostgresLimits(store, clock: clock),
            outbox: PostgresOutbox(store, clock: clock), shortLived: PostgresShortLived(store), clock: clock)
    }
}

/// One database, opened twice.
final class SharedRecords: Sendable {
    typealias Users = any UserRecords & UserSessionRecords & SingleUseRecords & AppleTokenRecords

    static let now: Int64 = 1_700_000_000
    static let rounds = 60
    /// Writers in each round, half of them at each gateway.
    static let writers = 6

    let gateways: [GatewayRecords]
    /// From now on the clock believes no time beyond this one.
    let believe: @Sendable (Int64) -> Void
    private let close: @Sendable () -> Void

    init(
        _ gateways: [GatewayRecords], believe: @escaping @Sendable (Int64) -> Void,
        close: @escaping @Sendable () -> Void = {}
    ) {
        self.gateways = gateways
        self.believe = believe
        self.close = close
    }

    deinit { close() }

    var users: Users { gateways[0].users }
    var others: Users { gateways[1].users }
    var outbox: any OutboxRecords { gateways[0].outbox }

    /// Runs `body` for each writer at the same time.
    ///
    /// - Returns: the results by writer.
    func race<Value: Sendable>(
        _ body: @escaping @Sendable (GatewayRecords, Int) async throws -> Value
    ) async throws -> [Value] {
        let results = try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for writer in 0..<Self.writers {
                group.addTask { [gateways] in (writer, try await body(gateways[writer % gateways.count], writer)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        return results.sorted { $0.0 < $1.0 }.map(\.1)
    }

    // MARK: Values

    static func user(_ name: String, role: String? = nil, email: String? = nil, asOf: Int64 = 0) -> UserRecord {
        UserRecord(
            id: "id-\(name)", issuer: "apple", subject: name, email: email, emailAsOf: asOf, role: role,
            createdAt: now)
    }

    static func session(_ id: String, of user: String = "ada", rotation: Int64 = 0) -> UserSessionRecord {
        UserSessionRecord(
            id: id, userID: "id-\(user)", rotation: rotation, successor: [UInt8(rotation)], authTime: now,
            createdAt: now, refreshedAt: now, expiresAt: now + 60, endsAt: now + 600)
    }

    static func proof(_ token: String, nonce: String? = nil) -> UserSignIn.Proof {
        UserSignIn.Proof(
            digest: Array(token.utf8), endsAt: now + 600,
            nonce: nonce.map { UserSignIn.Spent(digest: Array($0.utf8), endsAt: now + 600) })
    }

    static func token(_ text: String, of userID: String, client: String = "app", at time: Int64 = now)
        -> AppleTokenRecord
    {
        AppleTokenRecord(
            userID: userID, clientID: client, token: Array(text.utf8), storedAt: now, validatedAt: time)
    }

    /// The message that a token becomes when it is handed over.
    static let message: AppleTokenHandOver = { record in
        let text = String(decoding: record.token, as: UTF8.self)
        return OutboxMessage(
            key: "\(record.userID)/\(record.clientID)/\(text)", destination: "apple", kind: "revoke", body: text,
            createdAt: now * 1000, mustArrive: true)
    }

    /// The bodies of all messages that wait.
    func messages() async throws -> [String] {
        try await outbox.claim(
            for: "apple", now: Self.now * 1000, lease: 0, longestPause: 0, limit: 10_000
        ).map(\.body)
    }
}
