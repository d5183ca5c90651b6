import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito
@testable import Store

/// The use of authorization codes, and their end.
extension HostedSignInTests {
    @Test("A code gives one session, and one that is used again ends it, also while both are under way")
    func oneSession() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let fetcher = RepeatingFetcher([.success(Fixture.output([:]))])
        let accounts = try Self.accounts(fetcher, codes)
        let redeemed = await withTaskGroup { group in
            for _ in 0..<8 as Range<Int> { group.addTask { await accounts.answer(Self.redemption()).status } }
            return await group.reduce(into: 0) { $0 += $1 == .ok ? 1 : 0 }
        }
        #expect(redeemed == 1)
        let session = try #require(
            try await StoredSessions(codes.store).all(subject: Fixture.username, poolID: Fixture.poolID).first)
        #expect(session.endedAt == Fixture.now)
    }

    /// As somebody sees a code who has looked it up a moment before another one used it.
    private final class CodesBeforeUse: AuthorizationCodeRecords {
        private let codes: StoredAuthorizationCodes
        private let first: Mutex<AuthorizationCodeState?>

        init(_ codes: StoredAuthorizationCodes, _ state: AuthorizationCodeState) {
            self.codes = codes
            first = Mutex(state)
        }

        func state(of hash: [UInt8], poolID: String, now: Int64) async throws -> AuthorizationCodeState {
            if let state = takeFirst() { return state }
            return try await codes.state(of: hash, poolID: poolID, now: now)
        }

        private func takeFirst() -> AuthorizationCodeState? {
            first.withLock { state in
                defer { state = nil }
                return state
            }
        }

        func use(_ hash: [UInt8], poolID: String, now: Int64) async throws -> Bool {
            try await codes.use(hash, poolID: poolID, now: now)
        }

        func add(_ record: AuthorizationCodeRecord, now: Int64) async throws -> Bool { false }
        func takeUnused(poolID: String, now: Int64, limit: Int) async throws -> [[UInt8]] { [] }
        func removeEnded(now: Int64) async throws {}
    }

    @Test("One who comes second ends the session, also while the first one redeems the code", arguments: [true, false])
    func overtaken(isProven: Bool) async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let hash = SHA256.hash(Array(Self.random32.utf8))
        let open = try await codes.state(of: hash, poolID: Fixture.poolID, now: Fixture.now)
        #expect(try await Self.accounts(RecordedFetcher(), codes).answer(Self.redemption()).status == .ok)
        var second = Self.redemption()
        if !isProven {
            second.body = Array(
                String(decoding: second.body, as: UTF8.self).replacing(Self.verifier, with: Self.verifier + "w").utf8)
        }
        let accounts = try Fixture.accounts(
            RepeatingFetcher([.success(Fixture.output([:]))]), settings: Self.settings,
            records: StoredSessions(codes.store), codes: CodesBeforeUse(codes, open))
        #expect(await accounts.answer(second).status == .badRequest)
        let sessions = try await StoredSessions(codes.store).all(subject: Fixture.username, poolID: Fixture.poolID)
        #expect(sessions.map(\.endedAt) == [Fixture.now])
    }

    @Test("A use that comes late, when its client has gone, ends no session", arguments: [false, true])
    func abandoned(isOvertaken: Bool) async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let open = try await codes.state(
            of: SHA256.hash(Array(Self.random32.utf8)), poolID: Fixture.poolID, now: Fixture.now)
        let other = try Self.accounts(RepeatingFetcher([.success(Fixture.output([:]))]), codes)
        #expect(await other.answer(Self.redemption()).status == .ok)
        let seen: any AuthorizationCodeRecords = isOvertaken ? CodesBeforeUse(codes, open) : codes
        let late = try Fixture.accounts(
            RecordedFetcher(), settings: Self.settings, records: StoredSessions(codes.store), codes: seen)
        let request = CalledRequest(id: "late")
        request.abandon()
        let answer = await CalledRequest.$current.withValue(request) { await late.answer(Self.redemption()) }
        #expect(answer.status == .serviceUnavailable && answer.reason?.code == "client-disconnected")
        let sessions = StoredSessions(codes.store)
        #expect(try await sessions.all(subject: Fixture.username, poolID: Fixture.poolID).map(\.endedAt) == [nil])
        #expect(await other.answer(Self.redemption()).status == .badRequest)
        #expect(
            try await sessions.all(subject: Fixture.username, poolID: Fixture.poolID).map(\.endedAt) == [Fixture.now])
    }

    @Test("A code whose session cannot be stored can be shown again, and its sign-in goes on at Cognito")
    func failedSession() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let fetcher = RecordedFetcher()
        // A store without the codes' table: the transaction that uses the code fails.
        let failing = try Self.accounts(fetcher, codes, records: Fixture.records())
        #expect(await failing.answer(Self.redemption()).status == .serviceUnavailable)
        #expect(await fetcher.operations.isEmpty)
        #expect(try await Self.accounts(fetcher, codes).answer(Self.redemption()).status == .ok)
        #expect(await fetcher.operations.isEmpty)
    }

    @Test("A wrong proof uses the code up, and its sign-in ends at Cognito")
    func wrongProof() async throws {
        let codes = try Self.codes()
        _ = try await Self.comeBack(Self.accounts(RecordedFetcher(Self.tokens()), codes), codes)
        let fetcher = RecordedFetcher(Fixture.output([:]))
        let accounts = try Self.accounts(fetcher, codes)
        var wrong = Self.redemption()
        wrong.body = Array(
            String(decoding: wrong.body, as: UTF8.self).replacing(Self.verifier, with: Self.verifier + "w").utf8)
        #expect(await accounts.answer(wrong).status == .badRequest)
        #expect(await fetcher.operations == ["RevokeToken"])
        #expect(await accounts.answer(Self.redemption()).status == .badRequest)
        #expect(await fetcher.operations == ["RevokeToken"])
    }

    @Test("Unredeemed codes are taken once, of one pool, so many at a time, and are kept for minutes")
    func takingUnused() async throws {
        let codes = try Self.codes()
        for number in 0..<20 as Range<UInt8> {
            let record = AuthorizationCodeRecord(
                hash: [number], signInID: [number], poolID: number < 18 ? "p" : "other", result: [number],
                family: [number], expiresAt: 60)
            #expect(try await codes.add(record, now: 0))
        }
        #expect(try await codes.use([0], poolID: "p", now: 1))
        #expect(try await codes.takeUnused(poolID: "p", now: 59, limit: 16).isEmpty)
        try await codes.removeEnded(now: 359)
        let first = try await codes.takeUnused(poolID: "p", now: 359, limit: 16)
        let second = try await codes.takeUnused(poolID: "p", now: 359, limit: 16)
        #expect((first.count, second.count) == (16, 1))
        #expect(Set((first + second).map { $0[0] }) == Set(1..<18))
        try await codes.removeEnded(now: 360)
        #expect(try await codes.takeUnused(poolID: "other", now: 360, limit: 16).isEmpty)
    }

    @Test("Many unredeemed codes end in one look; it stops where Cognito cannot be asked")
    func manyUnredeemed() async throws {
        for isReachable in [true, false] {
            let codes = try Self.codes()
            let sealed = try SealedCodeResult(
                clientID: Fixture.clientID, redirectURI: Self.app, codeChallenge: "c", accessToken: Secret("a"),
                idToken: nil, refreshToken: Secret("token"), accessExpiresAt: 0
            ).sealed(with: Fixture.ring(), poolID: Fixture.poolID)
            for number in 0..<40 as Range<UInt8> {
                let record = AuthorizationCodeRecord(
                    hash: [number], signInID: [number], poolID: Fixture.poolID, result: sealed, family: [number],
                    expiresAt: Fixture.now)
                #expect(try await codes.add(record, now: Fixture.now - 60))
            }
            let answer = isReachable ? Fixture.output([:]) : Fixture.failure("InternalErrorException")
            let fetcher = RepeatingFetcher([.success(answer)])
            let log = CapturedLog()
            try await Fixture.accounts(fetcher, settings: Self.settings, log: log, codes: codes).endUnredeemed()
            let left = try await codes.takeUnused(poolID: Fixture.poolID, now: Fixture.now, limit: 100).count
            #expect(left == (isReachable ? 0 : 24))
            #expect(!log.lines.joined().contains("token"))
        }
    }

    @Test("Used and expired codes are forgotten ten minutes after their end, and nothing sooner")
    func forgetting() async throws {
        let store = try Store(path: ":memory:", migrations: StoredAuthorizationCodes.migrations)
        let codes = StoredAuthorizationCodes(store)
        let record = AuthorizationCodeRecord(
            hash: [1], signInID: [2], poolID: "p", result: [3], family: [4], expiresAt: 60)
        #expect(try await codes.add(record, now: 0))
        #expect(try await codes.state(of: [1], poolID: "other", now: 1) == .unknown)
        #expect(try await !codes.use([1], poolID: "other", now: 1))
        #expect(try await codes.state(of: [1], poolID: "p", now: 59) == .open(result: [3], family: [4]))
        #expect(try await codes.state(of: [1], poolID: "p", now: 60) == .unknown)
        #expect(try await !codes.use([1], poolID: "p", now: 60))
        #expect(try await codes.use([1], poolID: "p", now: 59))
        #expect(try await !codes.use([1], poolID: "p", now: 59))
        try await codes.removeEnded(now: 659)
        #expect(try await codes.state(of: [1], poolID: "p", now: 659) == .used(family: [4]))
        #expect(try await !codes.add(record, now: 659))
        try await codes.removeEnded(now: 660)
        #expect(try await codes.state(of: [1], poolID: "p", now: 660) == .unknown)
    }
}
