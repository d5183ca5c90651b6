import Cryptography
import Encoding
import HTTPTypes
import Logging
import Pipeline
import SettingsReader
import TestSupport
import Testing

@testable import Accounts
@testable import Clocks
@testable import Gateway
@testable import Keys
@testable import Proxy
@testable import Settings
@testable import Store

/// A gateway whose own clock is ten minutes behind that of the records.
@Suite("The time of day of several gateways")
struct SharedTimeTests {
    private struct Ahead: RecordClock {
        static let seconds: Int64 = 600

        func pruningTime(_ now: Int64) -> Int64 { sharedTime(now) }
        func believedTime(_ now: Int64) -> Int64 { sharedTime(now) }
        func latestTime(_ now: Int64) -> Int64 { sharedTime(now) }
        func keepPruningClock(now: Int64) async throws {}
        func sharedTime(_ now: Int64) -> Int64 { now + Self.seconds }
        func sharedMilliseconds(_ now: Int64) -> Int64 { now + Self.seconds * 1000 }
    }

    private let own: GatewayRecords
    private let records: GatewayRecords

    init() throws {
        own = try Store(path: ":memory:", migrations: StoredSessions.migrations + StoredRevocations.migrations)
            .records
        records = GatewayRecords(
            sessions: own.sessions, directSessions: own.directSessions, passwordChanges: own.passwordChanges,
            users: own.users, codes: own.codes, revocations: own.revocations, limits: own.limits,
            outbox: own.outbox, shortLived: nil, clock: Ahead())
    }

    @Test("The clock of the records counts; a gateway alone has its own")
    func clocks() {
        let before = WallClock.seconds()
        #expect((before...before + 60).contains(own.time()))
        #expect((before + 600...before + 660).contains(records.time()))
        #expect(own.milliseconds { 5 }() == 5)
        #expect(records.milliseconds { 5 }() == 600_005)
    }

    private static func settings() throws -> GatewaySettings {
        let yaml = """
            listeners: [{address: '127.0.0.1:8080'}]
            state_directory: /none
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            issuers:
              pool: {profile: cognito, user_pool_id: \(Fixture.poolID), client_ids: [\(Fixture.clientID)]}
            sign_in:
              cognito:
                issuer: pool
                client_id: \(Fixture.clientID)
                client_secret: \(Fixture.clientSecret)
                sealing_keys: ['1:\(Base64.encode([UInt8](repeating: 7, count: 32)))']
            routes: [{path: /api/**, upstream: api, issuers: [pool]}]
            """
        return try GatewaySettings.load(path: "/settings.yaml", environment: [:]) {
            (path) throws(FileReadFailure) in
            guard path == "/settings.yaml" else { throw .notFound }
            return Array(yaml.utf8)
        }
    }

    @Test("An operator's revocation means all up to the present of the records, and no later sign-in")
    func operatorRevocation() async throws {
        let now = WallClock.seconds()
        _ = try await OperatorRevocation(Self.settings(), records, now: now).revoke(
            .subject("ada"), issuer: nil, days: 1)
        let stored = try await records.revocations.all(now: now)
        #expect(stored.map(\.before) == [now + Ahead.seconds])
    }

    @Test("A session's times are by the clock of the records, so that any gateway may judge by them")
    func sessions() async throws {
        let settings = try Self.settings()
        let fetcher = RecordedFetcher(Fixture.tokens(), Fixture.tokens(refreshToken: "rotated"))
        let groups = try await Wiring.accounts(
            settings,
            Wiring.AccountDependencies(
                fetcher: { _ in fetcher }, sealingKeys: { try Fixture.ring() }, sessions: records.sessions,
                codes: records.codes,
                passwordChanges: PasswordChanges(records.passwordChanges, now: records.time) { SecureRandom.bytes($0) },
                time: records.time,
                flow: AccountFlow(RecordedCalls()), revoke: { _ in }, isRevoked: { _ in false },
                revocationTime: records.time, logger: CapturedLog().logger), after: [])
        let accounts = try #require(groups.first?.members.first?.accounts)
        let before = WallClock.seconds()
        let answer = await accounts.answer(Fixture.login())
        let token = try #require(answer.json["refresh_token"]?.stringValue)
        let refreshed = await accounts.answer(Fixture.request(.refresh, ["refresh_token": .string(token)]))
        #expect(refreshed.status == .ok)
        let record = try #require(
            try await records.sessions.all(subject: Fixture.username, poolID: Fixture.poolID).first)
        #expect(record.generation == 1)
        let after = WallClock.seconds()
        for time in [record.signedInAt, record.refreshedAt] { #expect((before + 600...after + 600).contains(time)) }
    }
}
