import Accounts
import Cryptography
import HTTPClient
import HTTPTypes
import Logging
import Measure
import Pipeline
import Sealing
import Store

/// The account endpoints in front of a Cognito that is never there.
final class AccountCalls: Sendable {
    private let accounts: CognitoAccounts
    private let user: VerifiedToken
    private let executor = ThisThread()

    private static let issuer = "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Example"

    init() throws {
        let keys = SealingKeyRing(sealing: try SealingKey(Secret([UInt8](repeating: 7, count: 32))))
        let settings = CognitoSignInSettings(
            endpoint: "https://cognito-idp.eu-west-1.amazonaws.com/", issuer: Self.issuer, poolID: "eu-west-1_Example",
            clientID: "1example23456789", clientSecret: Secret("secret"))
        accounts = CognitoAccounts(
            settings: settings, sealingKeys: keys, fetcher: NoFetcher(), records: NoRecords(),
            flow: AccountFlow(NoGuard()),
            revoke: { _ in }, isRevoked: { _ in false }, revocationTime: { 1_780_000_000 },
            now: { 1_780_000_000 },
            random: { [UInt8](repeating: 9, count: $0) },
            logger: Logger(label: "fuzz") { _ in SwiftLogNoOpLogHandler() })
        user = VerifiedToken(
            issuer: Self.issuer, issuerName: "pool", subject: "7d8ca528-4931-4254-9273-ea5ee853f271", tokenUse: .access,
            clientID: "1example23456789", expires: 1_780_003_600, keyID: "key")
    }

    /// Calls the operation whose place the path's last letter tells, from "a".
    func answer(_ path: String, _ body: [UInt8]) -> (HTTPResponse.Status, String) {
        let place = Int(path.utf8.last ?? 0) % CognitoAccounts.operations.count
        var request = AccountRequest(
            operation: CognitoAccounts.operations[place], body: body, contentType: "application/json",
            requestID: "request", clientAddress: "203.0.113.8")
        request.bearer = Secret("token")
        request.identity = user
        let answer = wait(request)
        // Not the fields that a refusal names: they can be called anything.
        let outcome = (answer.reason?.code ?? "").utf8.reduce(UInt64(place)) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        report_outcome(outcome >> 20)
        return (answer.status, String(answer.body.count))
    }

    /// Runs the call to its end on this thread: nothing that it waits for takes time.
    private func wait(_ request: AccountRequest) -> AccountAnswer {
        let result = Result()
        Task(executorPreference: executor) { [accounts] in
            result.value = await accounts.answer(request)
        }
        executor.run()
        guard let value = result.value else { fatalError("a call waits for something") }
        return value
    }

    /// Set and read on one thread.
    private final class Result: @unchecked Sendable {
        var value: AccountAnswer?
    }
}

/// Runs tasks on the thread that asks for it, which is always the same.
private final class ThisThread: TaskExecutor, @unchecked Sendable {
    private var jobs: [UnownedJob] = []

    func enqueue(_ job: consuming ExecutorJob) { jobs.append(UnownedJob(job)) }

    func run() {
        while !jobs.isEmpty { jobs.removeFirst().runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

private struct NoFetcher: Fetcher {
    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse { throw .timedOut }
}

/// Lets every call through.
private struct NoGuard: AccountGuard {
    func admit(_ call: AccountCall) async throws(Refusal) -> Admission { Admission(call) }
    func identify(_ admission: inout Admission, as username: String?) async -> Int? { nil }
    func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {}
    func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {}
}

private struct NoRecords: SessionRecords {
    private struct NotThere: Error {}

    func begin(_ record: SessionRecord, redeeming code: [UInt8]?) async throws -> Bool { throw NotThere() }
    func session(_ family: [UInt8]) async throws -> SessionRecord? { nil }
    func advance(to record: SessionRecord) async throws -> SessionStep { throw NotThere() }
    func advanceStored(to record: SessionRecord) async throws -> SessionStep { throw NotThere() }
    func renew(_ known: SessionRecord, as record: SessionRecord) async throws -> SessionStep { throw NotThere() }
    func end(family: [UInt8]?, originIDs: Set<String>, poolID: String, at now: Int64) async throws -> [SessionRecord] {
        []
    }
    func endAll(
        subject: String, poolID: String, except family: [UInt8]?, at now: Int64
    ) async throws -> [SessionRecord] { [] }
    func open(subject: String, poolID: String) async throws -> [SessionRecord] { [] }
    func all(subject: String, poolID: String) async throws -> [SessionRecord] { [] }
    func forget(subject: String, poolID: String) async throws {}
    func removeEnded(now: Int64) async throws {}
}
