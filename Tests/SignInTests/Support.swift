import Cryptography
import Encoding
import HTTPTypes
import Logging
import Pipeline
import Store
import Synchronization
import Upstream

@testable import SignIn

/// A `Fetcher` that answers from a list and keeps what it was asked.
actor RecordedFetcher: Fetcher {
    private var answers: [Result<FetchResponse, FetchError>]
    private(set) var requests: [FetchRequest] = []

    init(_ answers: [Result<FetchResponse, FetchError>]) {
        self.answers = answers
    }

    init(_ answers: FetchResponse...) {
        self.answers = answers.map { .success($0) }
    }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        requests.append(request)
        guard !answers.isEmpty else { throw .failed("unexpected call") }
        return try answers.removeFirst().get()
    }

    /// Answers these when the others are used up.
    func append(_ more: [FetchResponse]) { answers += more.map { .success($0) } }

    /// The bodies sent, in order.
    var bodies: [JSON] { requests.map { (try? JSON.parse($0.body ?? [])) ?? .null } }

    /// The operations called, in order.
    var operations: [String] {
        requests.map { request in
            let target = request.headers.first { $0.name == "X-Amz-Target" }?.value ?? ""
            return String(target.split(separator: ".").last ?? "")
        }
    }
}

/// A `Fetcher` that answers nobody before ``open()``.
actor GatedFetcher: Fetcher {
    private let answer: FetchResponse
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private(set) var calls = 0

    init(_ answer: FetchResponse) {
        self.answer = answer
    }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        calls += 1
        if !isOpen { await withCheckedContinuation { held.append($0) } }
        return answer
    }

    func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }
}

/// The entries of the revocation list.
final class RecordedRevocations: Sendable {
    private let recorded = Mutex<[Revocation]>([])

    var targets: [Revocation.Target] { recorded.withLock { $0.map(\.target) } }
    var all: [Revocation] { recorded.withLock { $0 } }

    struct Full: Error {}
    let isFull = Mutex(false)

    func add(_ revocations: [Revocation]) throws {
        guard !isFull.withLock({ $0 }) else { throw Full() }
        recorded.withLock { $0 += revocations }
    }
}

/// An observer that keeps what it was told, and refuses what it is told to.
final class RecordedCalls: AccountObserver {
    struct Entry: Sendable {
        var call: AccountCall
        /// Nil before the call.
        var outcome: AccountOutcome?
    }

    private let recorded = Mutex<[Entry]>([])
    let admission: Refusal?
    let end: Refusal?

    init(admission: Refusal? = nil, end: Refusal? = nil) {
        self.admission = admission
        self.end = end
    }

    var entries: [Entry] { recorded.withLock { $0 } }

    func admit(_ call: AccountCall) async throws(Refusal) {
        recorded.withLock { $0.append(Entry(call: call, outcome: nil)) }
        if let admission { throw admission }
    }

    func ended(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) {
        recorded.withLock { $0.append(Entry(call: call, outcome: outcome)) }
        if let end { throw end }
    }

    func held(about subject: String, poolID: String) async throws(Refusal) -> JSONObject {
        ["observed": .string("\(poolID) \(subject)")]
    }
}

/// Everything that was logged, as text.
final class CapturedLog: Sendable {
    private let captured = Mutex<[String]>([])

    var lines: [String] { captured.withLock { $0 } }

    var logger: Logger {
        Logger(label: "test") { _ in Handler(log: self) }
    }

    private func append(_ line: String) {
        captured.withLock { $0.append(line) }
    }

    private struct Handler: LogHandler {
        let log: CapturedLog
        var metadata: Logger.Metadata = [:]
        var logLevel: Logger.Level = .trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            log.append("\(event.level) \(event.message) \(event.metadata ?? [:])")
        }
    }
}

/// The pool, app client and user of all tests.
enum Fixture {
    static let now: Int64 = 1_700_000_000
    static let poolID = "eu-west-1_Example12"
    static let issuer = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example12"
    static let clientID = "1h57kf5cpq17m0eml12EXAMPLE"
    static let clientSecret = "s3cr3t-of-the-app-client"
    static let email = "ada@example.com"
    static let username = "7d8ca528-4931-4254-9273-ea5ee853f271"
    static let password = "correct horse battery"
    // Both computed with `openssl dgst -sha256 -hmac`.
    static let emailHash = "Op5EICibFelTzPp9UvFex8PQ3t4fWRYVrc+xL7adVNI="
    static let usernameHash = "5mJ5JSCF6tftsKL2YJtWbcg4raZv/3Y8H1ZmAWDUlu8="

    static func ring() throws -> SealingKeyRing {
        try SealingKeyRing(sealing: SealingKey(Secret([UInt8](repeating: 7, count: 32))))
    }

    static func settings() throws -> CognitoAccountSettings {
        CognitoAccountSettings(
            endpoint: "https://cognito-idp.eu-west-1.amazonaws.com/", issuer: issuer, poolID: poolID,
            clientID: clientID, clientSecret: Secret(clientSecret), sealingKeys: try ring())
    }

    static func accounts(
        _ fetcher: any Fetcher, settings: CognitoAccountSettings? = nil, log: CapturedLog = CapturedLog(),
        now: Int64 = now, records: (any SessionRecords)? = nil, observers: [any AccountObserver] = [],
        revocations: RecordedRevocations = RecordedRevocations(), revocationTime: Int64? = nil,
        signer: RequestSigner? = nil, after previous: CognitoAccounts? = nil
    ) throws -> CognitoAccounts {
        var steady: (@Sendable () -> Int64)?
        if let revocationTime { steady = { revocationTime } }
        return CognitoAccounts(
            settings: try settings ?? Self.settings(), fetcher: fetcher, signer: signer,
            records: try records ?? self.records(), observers: observers, revoke: { try revocations.add($0) },
            revocationTime: steady, after: previous, now: { now }, random: { [UInt8](repeating: 9, count: $0) },
            logger: log.logger)
    }

    static func records() throws -> StoredSessions {
        try StoredSessions(Store(path: ":memory:", migrations: StoredSessions.migrations))
    }

    static func request(_ operation: AccountOperation, _ body: JSON = .null) -> AccountRequest {
        AccountRequest(
            operation: operation, body: body == .null ? [] : body.encoded(), contentType: "application/json",
            requestID: "request-1", clientAddress: "192.0.2.7")
    }

    static func login(_ more: JSONObject = [:]) -> AccountRequest {
        var body: JSONObject = ["email": .string(email), "password": .string(password)]
        for (name, value) in more { body[name] = value }
        return request(.login, .object(body))
    }

    /// A call with a verified access token.
    static func bearer(_ operation: AccountOperation, _ body: JSON = .null) -> AccountRequest {
        var request = request(operation, body)
        request.bearer = Secret(accessToken)
        request.identity = identity()
        return request
    }

    static func refresh(_ token: Secret) -> AccountRequest {
        request(.refresh, ["refresh_token": .string(token.exposeText())])
    }

    static var sealed: SealedRefreshToken {
        SealedRefreshToken(
            clientID: clientID, username: username, subject: username, originID: "origin-1",
            refreshToken: Secret("provider-refresh-token"), deviceID: "device-1", deviceKey: nil,
            family: [UInt8](repeating: 9, count: 16), generation: 0, issuedAt: now, expiresAt: now + 1000)
    }

    static func sealedText(_ token: SealedRefreshToken = sealed) throws -> Secret {
        try token.sealed(with: ring(), poolID: poolID)
    }

    static func jwt(_ claims: JSONObject) -> String {
        let header = Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))
        return "\(header).\(Base64URL.encode(claims.encoded())).c2lnbmF0dXJl"
    }

    static let accessToken = jwt([
        "sub": .string(username), "username": .string(username), "token_use": "access",
        "scope": "aws.cognito.signin.user.admin", "cognito:groups": ["beta"], "origin_jti": "origin-1",
    ])
    static let idToken = jwt([
        "sub": .string(username), "cognito:username": .string(username), "email": .string(email),
        "email_verified": true, "token_use": "id", "custom:plan": "gold", "aud": .string(clientID),
        "phone_number_verified": "true",
    ])

    /// Cognito's answer to a sign-in, or to a refresh when `refreshToken` is nil.
    static func tokens(refreshToken: String? = "provider-refresh-token") -> FetchResponse {
        var result: JSONObject = [
            "AccessToken": .string(accessToken), "IdToken": .string(idToken), "ExpiresIn": 3600,
            "TokenType": "Bearer",
        ]
        result["RefreshToken"] = refreshToken.map(JSON.string)
        return FetchResponse(status: 200, body: (["AuthenticationResult": .object(result)] as JSON).encoded())
    }

    /// An answer with this output.
    static func output(_ output: JSON) -> FetchResponse { FetchResponse(status: 200, body: output.encoded()) }

    static func failure(_ type: String, _ message: String = "") -> FetchResponse {
        FetchResponse(status: 400, body: (["__type": .string(type), "message": .string(message)] as JSON).encoded())
    }

    static func identity(
        issuer: String = issuer, tokenUse: TokenUse = .access
    ) -> VerifiedToken {
        VerifiedToken(
            issuer: issuer, issuerName: "pool", subject: username, tokenUse: tokenUse, clientID: clientID,
            username: username, email: nil, emailVerified: nil, groups: ["beta"], scopes: [],
            expires: now + 3600, issuedAt: now, claims: ["origin_jti": "origin-1"], keyID: "key-1")
    }
}

extension AccountAnswer {
    var json: JSON { (try? JSON.parse(body)) ?? .null }
    var text: String { String(decoding: body, as: UTF8.self) }
}
