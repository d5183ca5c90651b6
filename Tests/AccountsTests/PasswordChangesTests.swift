import Cryptography
import Encoding
import HTTPClient
import HTTPTypes
import Pipeline
import Sealing
import Store
import Synchronization
import TestSupport
import Testing

@testable import Accounts
@testable import Cognito

@Suite("Changes of passwords that are stored until the sessions from before have ended")
struct PasswordChangesTests {
    private let records: StoredSessions
    private let changes: FailingRecords
    private let revocations = RecordedRevocations()
    private let log = CapturedLog()

    init() throws {
        let store = try Store(
            path: ":memory:", migrations: StoredSessions.migrations + StoredPasswordChanges.migrations)
        records = StoredSessions(store)
        changes = FailingRecords(StoredPasswordChanges(store))
    }

    /// Records that cannot be added or removed while a test says so.
    private final class FailingRecords: PasswordChangeRecords {
        struct Failure: Error {}
        private let records: StoredPasswordChanges
        let cannotAdd = Mutex(false)
        let cannotRemove = Mutex(false)

        init(_ records: StoredPasswordChanges) { self.records = records }

        func add(_ record: PasswordChangeRecord) async throws {
            if cannotAdd.withLock({ $0 }) { throw Failure() }
            try await records.add(record)
        }
        func remove(_ id: [UInt8]) async throws {
            if cannotRemove.withLock({ $0 }) { throw Failure() }
            try await records.remove(id)
        }
        func all(poolID: String, clientID: String, limit: Int) async throws -> [PasswordChangeRecord] {
            try await records.all(poolID: poolID, clientID: clientID, limit: limit)
        }

        var stored: [PasswordChangeRecord] {
            get async throws { try await all(poolID: Fixture.poolID, clientID: Fixture.clientID, limit: 100) }
        }
    }

    /// Answers from a list, and notes which changes are stored when it is asked.
    private actor WatchingFetcher: Fetcher {
        private var answers: [FetchResponse]
        private let records: FailingRecords
        private(set) var seen: [[PasswordChangeRecord]] = []
        private(set) var bodies: [JSON] = []

        init(_ records: FailingRecords, _ answers: [FetchResponse]) {
            (self.records, self.answers) = (records, answers)
        }

        func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
            bodies.append((try? JSON.parse(request.body ?? [])) ?? .null)
            seen.append((try? await records.stored) ?? [])
            guard !answers.isEmpty else { throw .timedOut }
            return answers.removeFirst()
        }
    }

    /// Knows whose name the fixture's is.
    private final class Knowing: AccountGuard {
        func admit(_ call: AccountCall) async throws(Refusal) -> Admission { Admission(call) }
        func identify(_ admission: inout Admission, as username: String?) async -> Int? { nil }
        func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {}
        func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {}
        func subjects(named name: String, poolID: String) async throws -> [String] {
            [Fixture.email, Fixture.username].contains(name) && poolID == Fixture.poolID ? [Fixture.username] : []
        }
    }

    private func passwordChanges(_ now: Int64 = Fixture.now) -> PasswordChanges {
        PasswordChanges(changes, now: { now }) { SecureRandom.bytes($0) }
    }

    private func accounts(
        _ answers: [FetchResponse], _ passwordChanges: PasswordChanges? = nil,
        siblings: SiblingClients = SiblingClients(), endsSessions: Bool = true
    ) throws -> (CognitoAccounts, WatchingFetcher) {
        let fetcher = WatchingFetcher(changes, answers)
        var settings = Fixture.settings()
        settings.passwordChanges.endsOtherSessions = endsSessions
        let accounts = try Fixture.accounts(
            fetcher, settings: settings, log: log, records: records, accountGuard: Knowing(),
            revocations: revocations, passwordChanges: passwordChanges ?? self.passwordChanges(), siblings: siblings)
        return (accounts, fetcher)
    }

    private func begin(
        _ origin: String, at time: Int64 = Fixture.now, clientID: String = Fixture.clientID,
        with ring: SealingKeyRing? = nil
    ) async throws {
        var sealed = Fixture.sealed
        sealed.family = Array(SHA256.hash(Array(origin.utf8)).prefix(16))
        (sealed.originID, sealed.issuedAt, sealed.clientID) = (origin, time, clientID)
        sealed.refreshToken = Secret("token-\(origin)")
        let text = try sealed.sealed(with: ring ?? Fixture.ring(), poolID: Fixture.poolID)
        let sessions = RefreshSessions(
            records: records, poolID: Fixture.poolID, keys: try Fixture.ring(), now: { time })
        try await sessions.begin(sealed, text, on: nil)
    }

    private func goingOn() async throws -> Set<String?> {
        Set(
            try await records.all(subject: Fixture.username, poolID: Fixture.poolID)
                .filter { $0.endedAt == nil }.map(\.originID))
    }

    private static let done = Fixture.output([:])
    private static let changing = Fixture.bearer(
        .changePassword, ["current_password": "old horse", "new_password": "new horse"])
    private static func resetting(_ email: String = Fixture.email) -> AccountRequest {
        Fixture.request(
            .resetPassword, ["email": .string(email), "code": "123456", "new_password": "new horse"])
    }

    @Test("A change is stored before Cognito makes it, and until the sessions have ended")
    func stored() async throws {
        for request in [Self.changing, Self.resetting()] {
            let (accounts, fetcher) = try accounts([Self.done, Self.done])
            try await begin("other-\(request.operation.name)")
            #expect(await accounts.answer(request).status == .noContent)
            let (bodies, seen) = (await fetcher.bodies, await fetcher.seen)
            #expect(seen.map(\.count) == [1, 1])
            #expect(bodies.last?["Token"]?.stringValue == "token-other-\(request.operation.name)")
            let change = try #require(seen[0].first)
            #expect(change.subject == Fixture.username)
            #expect(change.spared == (request.operation == .changePassword ? "origin-1" : nil))
            #expect(change.endsSignInsUntil > Fixture.now)
            #expect(try await changes.stored.isEmpty)
        }
    }

    @Test("A reset takes the same writes whether the gateway knows the user or not")
    func unknown() async throws {
        let (accounts, fetcher) = try accounts([Fixture.failure("CodeMismatchException")])
        _ = await accounts.answer(Self.resetting("nobody@example.com"))
        #expect(await fetcher.seen.map { $0.map(\.subject) } == [[nil]])
        #expect(try await changes.stored.isEmpty)
    }

    @Test("A password is set once, also where a repeat of the call cannot be stored")
    func repeatedWithoutStore() async throws {
        for request in [Self.changing, Self.resetting()] {
            let (accounts, fetcher) = try accounts([Self.done])
            revocations.isFull.withLock { $0 = true }
            #expect(await accounts.answer(request).status == .serviceUnavailable)
            revocations.isFull.withLock { $0 = false }
            changes.cannotAdd.withLock { $0 = true }
            #expect(await accounts.answer(request).status == .serviceUnavailable)
            changes.cannotAdd.withLock { $0 = false }
            #expect(await accounts.answer(request).status == .noContent, "\(request.operation.name)")
            #expect(await fetcher.bodies.count == 1, "\(request.operation.name)")
        }
    }

    @Test("Nothing is stored where no session ends")
    func off() async throws {
        let (accounts, fetcher) = try accounts([Self.done, Self.done], endsSessions: false)
        _ = await accounts.answer(Self.changing)
        _ = await accounts.answer(Self.resetting())
        #expect(await fetcher.seen == [[], []])
    }

    @Test(
        "A refused change is forgotten; one whose response was lost ends the sessions where a token has proven the user",
        arguments: [
            (changing, Fixture.failure("NotAuthorizedException", "Incorrect username or password."), false),
            (changing, nil, true),
            (resetting(), Fixture.failure("CodeMismatchException"), false),
            // Anybody could try that for anybody.
            (resetting(), nil, false),
        ] as [(AccountRequest, FetchResponse?, Bool)])
    func refused(request: AccountRequest, answer: FetchResponse?, isLeft: Bool) async throws {
        let (accounts, _) = try accounts([answer].compactMap { $0 })
        try await begin("other")
        #expect(await accounts.answer(request).status != .noContent)
        #expect(try await changes.stored.count == (isLeft ? 1 : 0))
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == (isLeft ? [] : ["other"]))
        #expect(try await changes.stored.isEmpty)
    }

    @Test("What a process leaves the next one ends: the sign-ins from before, here and at Cognito, but the spared one")
    func leftOver() async throws {
        let (earlier, _) = try accounts([])
        for (origin, time) in [("origin-1", 0), ("before", -60), ("later", 60)] as [(String, Int64)] {
            try await begin(origin, at: Fixture.now + time)
        }
        _ = try await earlier.storeChange(of: Fixture.username, sparing: "origin-1", Self.changing)
        let (accounts, fetcher) = try accounts([Self.done], passwordChanges(Fixture.now + 20))
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == ["origin-1", "later"])
        #expect(await fetcher.bodies.map { $0["Token"] } == ["token-before"])
        let others = Revocation.Target.otherSignIns(Fixture.username, before: Fixture.now - 1, sparing: "origin-1")
        #expect(revocations.targets == [others, .originID("before")])
        #expect(try await changes.stored.isEmpty)
        #expect(log.lines.contains { $0.contains("sessions were ended later than the password was set") })
        await accounts.endLeftOverSessions()
        #expect(revocations.targets.count == 2, "once")
    }

    @Test("A sign-in from before ends, also where Cognito's clock dates it later")
    func datedAhead() async throws {
        let (accounts, _) = try accounts([])
        var sealed = Fixture.sealed
        sealed.issuedAt = Fixture.now + 2
        try await accounts.sessions.begin(sealed, Fixture.sealedText(sealed), on: nil)
        var record = try #require(try await accounts.sessions.records.session(sealed.family))
        #expect(record.signedInAt == Fixture.now)
        // It has been refreshed by the time at which what is left over is ended.
        (record.generation, record.refreshedAt) = (record.generation + 1, Fixture.now + 40)
        #expect(try await accounts.sessions.records.advanceStored(to: record) == .taken)
        let ended = try await accounts.sessions.endAll(of: Fixture.username, signedInUntil: Fixture.now)
        #expect(ended.map(\.signedInAt) == [Fixture.now + 2])
    }

    @Test("Sign-ins after Cognito can have made the change are not meant")
    func laterSignIns() async throws {
        let (earlier, _) = try accounts([])
        _ = try await earlier.storeChange(of: Fixture.username, sparing: nil, Self.changing)
        let later = Fixture.now + 600
        let accounts = try Fixture.accounts(
            RecordedFetcher(), now: later, records: records, revocations: revocations, revocationTime: later,
            passwordChanges: passwordChanges(later))
        await accounts.endLeftOverSessions()
        let until = try #require(revocations.targets.first)
        #expect(until == .subject(Fixture.username, before: Fixture.now + 6))
    }

    @Test("A change that is under way here, or may be at another gateway, is not left over")
    func underWay() async throws {
        let own = passwordChanges()
        let sessions = EndedByPassword(subject: Fixture.username, spared: nil, signedInUntil: Fixture.now)
        let id = try await own.begin(sessions, poolID: Fixture.poolID, clientID: Fixture.clientID)
        func leftOver(_ changes: PasswordChanges, _ poolID: String = Fixture.poolID) async throws -> Int {
            try await changes.leftOver(poolID: poolID, clientID: Fixture.clientID, patience: 20).count
        }
        let (soon, later) = (passwordChanges(Fixture.now + 19), passwordChanges(Fixture.now + 20))
        #expect(try await leftOver(own) == 0)
        #expect(try await leftOver(soon) == 0)
        #expect(try await leftOver(later) == 1)
        #expect(try await leftOver(later, "another") == 0)
        own.leave(id)
        #expect(try await leftOver(own) == 1)
        #expect(try await leftOver(soon) == 0)
    }

    @Test("Sessions that could not be ended are ended later")
    func failure() async throws {
        let (accounts, _) = try accounts([Self.done, Self.done])
        try await begin("other")
        revocations.isFull.withLock { $0 = true }
        #expect(await accounts.answer(Self.changing).status == .serviceUnavailable)
        await accounts.endLeftOverSessions()
        #expect(try await changes.stored.count == 1, "it stays until it is done")
        #expect(log.lines.contains { $0.contains("sessions from before a new password cannot be ended") })
        revocations.isFull.withLock { $0 = false }
        await accounts.endLeftOverSessions()
        #expect(try await goingOn().isEmpty)
        #expect(try await changes.stored.isEmpty)
    }

    @Test("A change that cannot be removed ends no session, and is removed later")
    func notRemoved() async throws {
        let (accounts, _) = try accounts([Fixture.failure("CodeMismatchException")])
        try await begin("other")
        changes.cannotRemove.withLock { $0 = true }
        #expect(await accounts.answer(Self.resetting()).status == .unprocessableContent)
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == ["other"])
        #expect(try await changes.stored.count == 1)
        changes.cannotRemove.withLock { $0 = false }
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == ["other"])
        #expect(try await changes.stored.isEmpty)
    }

    @Test("A new password at sign-in is stored too, and the sign-in goes on where sessions end later")
    func atSignIn() async throws {
        let (accounts, fetcher) = try accounts([Fixture.tokens(), Self.done])
        try await begin("before", at: Fixture.now - 60)
        revocations.isFull.withLock { $0 = true }
        #expect(try await accounts.answer(Self.answering()).status == .ok)
        #expect(await fetcher.seen.first?.first?.subject == Fixture.username)
        revocations.isFull.withLock { $0 = false }
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == ["origin-1"])
    }

    private static func answering() throws -> AccountRequest {
        let asked = SealedChallenge(
            name: "NEW_PASSWORD_REQUIRED", session: "s", username: Fixture.username, account: Fixture.email,
            rememberMe: true, expiresAt: Fixture.now + 60)
        let session = try asked.sealed(with: Fixture.ring(), poolID: Fixture.poolID).exposeText()
        return Fixture.request(
            .challenge,
            ["challenge": "NEW_PASSWORD_REQUIRED", "session": .string(session), "new_password": "new horse"])
    }

    @Test(
        "A new password at sign-in whose response was lost ends the earlier sessions, and a refused one ends none",
        arguments: [(nil, true), (Fixture.failure("InvalidPasswordException"), false)] as [(FetchResponse?, Bool)])
    func lostAtSignIn(answer: FetchResponse?, isLeft: Bool) async throws {
        let (accounts, _) = try accounts([answer].compactMap { $0 })
        try await begin("before", at: Fixture.now - 60)
        #expect(try await accounts.answer(Self.answering()).status != .ok)
        #expect(try await changes.stored.count == (isLeft ? 1 : 0))
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == (isLeft ? [] : ["before"]))
    }

    /// The steps of translated sign-ins before a new password, Cognito's answers to them, and whether they prove a
    /// password.
    private static let untilNewPassword: [([JSONObject], [FetchResponse], Bool)] = [
        ([DirectStepTests.initiate("USER_PASSWORD_AUTH")], [newPasswordRequired], true),
        // Under an address that is new to the gateway.
        ([DirectStepTests.initiate("USER_PASSWORD_AUTH", "new@example.com")], [newPasswordRequired], true),
        (
            [
                DirectStepTests.initiate(
                    "USER_AUTH", Fixture.email, ["PREFERRED_CHALLENGE": "PASSWORD", "PASSWORD": "old horse"])
            ], [newPasswordRequired], true
        ),
        (
            [
                DirectStepTests.initiate("USER_AUTH"),
                DirectStepTests.respond(
                    "SELECT_CHALLENGE", session: "0-session", ["ANSWER": "PASSWORD", "PASSWORD": "old horse"]),
            ], [DirectStepTests.challenge("SELECT_CHALLENGE", session: "0-session"), newPasswordRequired], true
        ),
        // An app that invents the last step: Cognito has asked for no new password.
        (
            [DirectStepTests.initiate("USER_AUTH")],
            [DirectStepTests.challenge("SELECT_CHALLENGE", session: "1-session")], false
        ),
    ]

    private static let newPasswordRequired = DirectStepTests.challenge("NEW_PASSWORD_REQUIRED", session: "1-session")

    @Test(
        "A translated new password at sign-in whose response was lost ends sessions if a password was proven before",
        arguments: untilNewPassword)
    func lostInTranslation(steps: [JSONObject], answers: [FetchResponse], isLeft: Bool) async throws {
        let (accounts, fetcher) = try accounts(answers)
        try await begin("before", at: Fixture.now - 60)
        let calls = DirectCognitoCalls(
            pools: [DirectCognitoTests.pool(fetcher)], flow: AccountFlow(Knowing()), steps: SignInSteps { Fixture.now },
            sessions: DirectSessions { Fixture.now }, revoke: { _ in }, accounts: [accounts],
            forget: { _, _ in }, revocations: { .empty }, revocationTime: { Fixture.now }, logger: log.logger)
        let last = DirectStepTests.respond(
            "NEW_PASSWORD_REQUIRED", session: "1-session", ["NEW_PASSWORD": "new horse"])
        for body in steps + [last] {
            let operation = body["AuthFlow"] == nil ? "RespondToAuthChallenge" : "InitiateAuth"
            _ = await calls.answer(
                DirectCognitoRequest(
                    call: DirectCognitoCall(operation: operation, application: "MyApp/1"), body: body.encoded(),
                    requestID: "r-1", clientAddress: "192.0.2.7"))
        }
        let stored = [[String?]](repeating: [], count: steps.count) + [[Fixture.username]]
        #expect(await fetcher.seen.map { $0.map(\.subject) } == stored)
        #expect(try await changes.stored.count == (isLeft ? 1 : 0))
        await accounts.endLeftOverSessions()
        #expect(try await goingOn() == (isLeft ? [] : ["before"]))
    }

    @Test("The sessions of the pool's other app clients end at Cognito too, each by its own client")
    func siblings() async throws {
        let ring = try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 8, count: 32))))
        let other = AppClient(poolID: Fixture.poolID, clientID: "other-client", clientSecret: Secret("other-secret"))
        let (accounts, fetcher) = try accounts(
            [Self.done, Self.done, Self.done],
            siblings: SiblingClients([SiblingClients.Client(app: other, sealingKeys: ring)]))
        try await begin("own")
        try await begin("others", clientID: "other-client", with: ring)
        try await begin("gone", clientID: "client-that-is-gone")
        #expect(await accounts.answer(Self.resetting()).status == .noContent)
        #expect(try await goingOn().isEmpty)
        let ended = await fetcher.bodies.dropFirst().map {
            "\($0["Token"]?.stringValue ?? "") \($0["ClientId"]?.stringValue ?? "") \($0["ClientSecret"]?.stringValue ?? "")"
        }
        #expect(
            Set(ended) == [
                "token-own \(Fixture.clientID) \(Fixture.clientSecret)", "token-others other-client other-secret",
            ])
        #expect(Set(revocations.targets).isSuperset(of: [.originID("own"), .originID("others"), .originID("gone")]))
        #expect(log.lines.contains { $0.contains("sessions that ended with a new password continue at Cognito") })
    }
}
