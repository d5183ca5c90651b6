import ClockSteps
import Cryptography
import Encoding
import Logging
import Pipeline
import Synchronization
import Upstream

@testable import Gateway

/// A time of day that only the test moves and sets, and a steady clock beside it.
final class ManualClock: SettableClock {
    static let start: Int64 = 1_780_000_000

    private let state = Mutex((now: start, error: Int64(0), endsReader: false))

    /// The time of day, given to the code under test.
    func read() -> Int64 {
        let (now, error, endsReader) = state.withLock { state in
            defer { state.endsReader = false }
            return state
        }
        if endsReader { withUnsafeCurrentTask { $0?.cancel() } }
        return now + error
    }

    /// The steady clock, given to the code under test.
    var uptime: Int64 { state.withLock { $0.now } }

    func set(error: Int64) { state.withLock { $0.error = error } }

    func advance(_ seconds: Int64) { state.withLock { $0.now += seconds } }

    /// Cancels the task that reads the clock next, so that a loop does what it is about and does not go round again.
    func endNextReader() { state.withLock { $0.endsReader = true } }
}

/// A `Fetcher` that gives the answers of a list, the last one for ever, and nobody any while it is closed.
actor RecordedFetcher: Fetcher {
    private var answers: [Result<FetchResponse, FetchError>]
    private var isOpen: Bool
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []
    private(set) var requests: [FetchRequest] = []

    init(_ answers: [Result<FetchResponse, FetchError>], isOpen: Bool = true) {
        self.answers = answers
        self.isOpen = isOpen
    }

    var calls: Int { requests.count }

    func fetch(_ request: FetchRequest) async throws(FetchError) -> FetchResponse {
        requests.append(request)
        for watcher in watchers { watcher.resume() }
        watchers = []
        if !isOpen { await withCheckedContinuation { held.append($0) } }
        guard let answer = answers.first else { throw .failed("unexpected call") }
        if answers.count > 1 { answers.removeFirst() }
        return try answer.get()
    }

    /// Returns when the fetcher has been called.
    func awaitCall() async {
        guard requests.isEmpty else { return }
        await withCheckedContinuation { watchers.append($0) }
    }

    func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }

    func answer(_ answer: Result<FetchResponse, FetchError>) { answers = [answer] }
}

/// The sets that a service published, in order: the key ids of each, nil for none.
final class Published: Sendable {
    private let sets = Mutex<[[String]?]>([])
    private let generationsSeen = Mutex<[UInt64]>([])

    func publish(_ set: KeySet?) {
        sets.withLock { $0.append(set?.keyIDs) }
        if let set { generationsSeen.withLock { $0.append(set.generation) } }
    }

    var all: [[String]?] { sets.withLock { $0 } }
    var generations: [UInt64] { generationsSeen.withLock { $0 } }
}

/// A key set service with everything around it under the test's control.
struct KeySetFixture {
    private static let made = Result { () throws(CryptographyError) in try RSASigningKey.generate(bits: 2048) }

    let clock: ManualClock
    let fetcher: RecordedFetcher
    let published = Published()
    let service: KeySetService

    init(
        _ answers: Result<FetchResponse, FetchError>..., isOpen: Bool = true, clock: ManualClock = ManualClock(),
        name: String = "pool", issuer: Issuer? = nil, configured: KeySet? = nil, directory: String? = nil,
        policy: KeySetService.Policy = KeySetService.Policy(),
        counted: KeySetService.Status = KeySetService.Status(), log: WarningLog = WarningLog()
    ) {
        let issuer = issuer ?? Self.issuer(name)
        self.clock = clock
        fetcher = RecordedFetcher(answers, isOpen: isOpen)
        service = KeySetService(
            issuer: issuer, policy: policy, fetcher: fetcher,
            file: directory.map { KeySetFile(directory: $0, issuer: issuer) }, configured: configured,
            counted: counted, logger: Logger(label: "test") { _ in log },
            now: { clock.read() }, uptime: { clock.uptime }, publish: { [published] in published.publish($0) })
    }

    static func issuer(_ name: String, userPoolID: String = "eu-west-1_Example") -> Issuer {
        .cognito(name: name, region: "eu-west-1", userPoolID: userPoolID, clientIDs: ["client"])
    }

    static func document(_ keyIDs: String...) throws -> [UInt8] {
        let key = try made.get()
        let keys = keyIDs.map { id -> JSON in
            [
                "kty": "RSA", "kid": .string(id), "use": "sig", "alg": "RS256",
                "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
            ]
        }
        return JSON.object(["keys": .array(keys)]).encoded()
    }

    static func answer(_ keyID: String, cacheControl: String? = nil) throws -> Result<FetchResponse, FetchError> {
        let headers = cacheControl.map { [(name: "cache-control", value: $0)] } ?? []
        return .success(FetchResponse(status: 200, headers: headers, body: try document(keyID)))
    }

    /// One round of the service's loop: a fetch where one is due, and the look at how old the set is.
    ///
    /// With a file that holds a set it is only the reading of the file, which asks for the time first.
    func runOnce() async {
        clock.endNextReader()
        await Task { await service.run() }.value
    }

    /// The result of a look-up, as text.
    func lookUp(_ keyID: String) async -> String { "\(await service.lookUp(keyID))" }
}

/// A log of which only the warnings, or what the test wants, are kept, each with what it names.
struct WarningLog: LogHandler {
    private final class Lines: Sendable {
        let lines = Mutex<[String]>([])
    }

    private let kept = Lines()
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .warning
    var warnings: [String] { kept.lines.withLock { $0 } }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let named = (event.metadata?["keys"] ?? event.metadata?["reason"]).map { ": \($0)" } ?? ""
        kept.lines.withLock { $0.append("\(event.message)\(named)") }
    }
}
