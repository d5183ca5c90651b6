import ClockSteps
import Cryptography
import Encoding
import Logging
import Synchronization
import TestSupport

@testable import HTTPClient
@testable import Keys
@testable import Pipeline

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
    let fetcher: RepeatingFetcher
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
        fetcher = RepeatingFetcher(answers, isOpen: isOpen)
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
