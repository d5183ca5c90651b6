import ClockSteps
import Cryptography
import Encoding
import Keys
import Pipeline
import Synchronization
import TestSupport

@testable import Accounts
@testable import Sessions
@testable import Store

/// Sessions over a database in memory, with a clock and keys of the test's.
final class SessionFixture: Sendable {
    static let issuer = "https://api.example.com"
    static let start: Int64 = 1_700_000_000

    /// Keys that sign and verify.
    struct Keys: SessionKeys {
        var signing: AssertionKey?
        var keySet: KeySet?

        init() throws {
            let key = AssertionKey(try P256SigningKey.generate())
            signing = key
            let document = AssertionKeys.document(of: [key.publicJSONWebKey])
            keySet = try KeySet(jwks: document, algorithms: [.es256], generation: 1)
        }
    }

    /// A revocation list, which refuses what it is told to.
    final class Revocations: SessionRevocations {
        struct Full: Error {}
        private let stored = Mutex<(list: RevocationList, all: [Revocation])>((.empty, []))
        private let ended = Mutex<[SupersededSession]>([])
        let isFull = Mutex(false)
        /// Whether there is room for whole users only.
        let isFullOfSingles = Mutex(false)
        /// Whether a user cannot be revoked for ever.
        let isFullOfForever = Mutex(false)
        /// Whether what is revoked holds and cannot be stored.
        let isUnstored = Mutex(false)

        var current: RevocationList { stored.withLock { $0.list } }
        var hasUnstored: Bool { isUnstored.withLock { $0 } }
        var all: [Revocation] { stored.withLock { $0.all } }
        var superseded: [SupersededSession] { ended.withLock { $0 } }

        func revoke(_ revocations: [Revocation]) async throws {
            let isSingle = !revocations.allSatisfy(\.meansUser)
            guard !isFull.withLock({ $0 }), !(isSingle && isFullOfSingles.withLock { $0 }) else { throw Full() }
            let isForever = revocations.contains {
                if case .subject(_, before: .max) = $0.target { true } else { false }
            }
            guard !(isForever && isFullOfForever.withLock { $0 }) else { throw Full() }
            stored.withLock { stored in
                stored.list = stored.list.adding(revocations)
                stored.all += revocations
            }
            if hasUnstored { throw Full() }
        }

        func supersede(_ session: SupersededSession) { ended.withLock { $0.append(session) } }
    }

    let store: Store
    let users: StoredUsers
    let revocations = Revocations()
    let log = CapturedLog()
    let observer = RecordedCalls()
    let keys: Keys
    let settings: UserSessionSettings
    private let clock = Mutex((steady: start, error: Int64(0)))
    private let serial = Mutex<UInt16>(0)

    init(
        _ store: Store? = nil, keys: Keys? = nil, _ change: (inout UserSessionSettings) -> Void = { _ in }
    ) throws {
        self.store =
            try store
            ?? Store(
                path: ":memory:",
                migrations: StoredUsers.migrations + StoredOutbox.migrations + StoredSessions.migrations
                    + PruningClock.migrations)
        users = StoredUsers(self.store)
        self.keys = try keys ?? Keys()
        var settings = UserSessionSettings(issuer: Self.gatehouse.name, audience: "api")
        change(&settings)
        self.settings = settings
    }

    static let gatehouse = Issuer(
        name: "sessions", issuer: issuer, profile: .gatehouse(audiences: ["api"]), keySource: .own,
        algorithms: [.es256])

    var now: Int64 { clock.withLock { $0.steady + $0.error } }
    func pass(_ seconds: Int64) { clock.withLock { $0.steady += seconds } }
    func set(error: Int64) { clock.withLock { $0.error = error } }

    /// The clock goes wrong, while the store is tidied as a gateway does.
    func take(_ steps: ClockSteps, doing work: () async throws -> Void = {}) async throws {
        try store.followPruningClock(now: now) { self.clock.withLock { $0.steady } }
        for error in steps.errors {
            set(error: error)
            try await users.removeEnded(now: now)
            if error != 0 { try await work() }
        }
    }

    func sessions(records: (any UserSessionRecords)? = nil) throws -> UserSessions {
        UserSessions(
            issuer: Self.gatehouse, settings: settings, users: users, records: records ?? users, keys: keys,
            sealingKeys: try Fixture.ring(), revocations: revocations, now: { self.now },
            random: { count in
                // No two are the same.
                let number = self.serial.withLock { serial -> UInt16 in
                    serial &+= 1
                    return serial
                }
                return (0..<count).map { UInt8(truncatingIfNeeded: $0.isMultiple(of: 2) ? number : number >> 8) }
            }, logger: log.logger)
    }

    func endpoints(
        records: (any UserSessionRecords)? = nil, companions: [any UserCompanion] = [],
        apple: AppleSignIn? = nil
    ) throws -> SessionEndpoints {
        SessionEndpoints(
            name: Self.issuer, sessions: try sessions(records: records),
            apple: try apple ?? AppleFixture.signIn(users, log), companions: companions, flow: AccountFlow(observer))
    }

    static func user(_ subject: String = "apple-ada", role: String? = "customer") -> UserRecord {
        UserRecord(
            id: "", issuer: "https://appleid.apple.com", subject: subject, name: "Ada", email: "ada@example.com",
            emailVerified: true, role: role, createdAt: 0)
    }

    /// A session that has just begun.
    func begin(_ user: UserRecord = user(), device: DeviceInfo? = nil) async throws -> BegunSession {
        try await sessions().begin(
            UserSessions.SignIn(user: user, device: device, authTime: now), requestID: "request-1")
    }

    /// The gate's verdict on a token: nil for one that is refused.
    func verify(_ token: Secret) -> VerifiedToken? {
        let verdict = TokenVerifier(issuers: [Self.gatehouse]).verify(
            token.expose(), accepting: TokenAcceptance(tokenUses: [.session]), keys: { _ in self.keys.keySet },
            now: now)
        guard case .verified(let verified) = verdict, !revocations.current.revokes(verified) else { return nil }
        return verified
    }

    func request(_ operation: AccountOperation, _ token: Secret?, _ body: JSON? = nil) -> AccountRequest {
        AccountRequest(
            operation: operation, body: body?.encoded() ?? [], contentType: "application/json", bearer: token,
            identity: operation.bearer == .required ? token.flatMap(verify) : nil, requestID: "request-1",
            clientAddress: "192.0.2.7")
    }

    /// - Returns: status, `error` or the new token, and reason.
    func refresh(_ token: Secret, _ endpoints: SessionEndpoints? = nil) async throws -> AccountAnswer {
        try await (endpoints ?? self.endpoints()).answer(request(.sessionRefresh, token))
    }
}

extension AccountAnswer {
    /// The `token` of an answer.
    var token: Secret? { json["token"]?.stringValue.map { Secret($0) } }
}
