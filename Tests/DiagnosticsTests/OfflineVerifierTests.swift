import Cryptography
import Encoding
import Foundation
import Keys
import Logging
import Pipeline
import SettingsReader
import Testing

@testable import Diagnostics
@testable import Keys
@testable import Settings
@testable import Store

@Suite("Tokens without a gateway that runs")
struct OfflineVerifierTests {
    static let now: Int64 = 1_780_000_000
    static let yaml = """
        listeners: [{address: '127.0.0.1:8080'}]
        state_directory: state
        upstreams: {api: {url: 'http://127.0.0.1:8000'}}
        issuers:
          main: {profile: oidc, issuer: 'https://id.example', audiences: [api], algorithms: [ES256], jwks_file: keys.json}
          other: {profile: oidc, issuer: 'https://other.example', audiences: [api], algorithms: [ES256], jwks_file: keys.json}
          ids: {profile: oidc, issuer: 'https://ids.example', audiences: [app], token_use: id,
                algorithms: [ES256], jwks_file: keys.json}
          far: {profile: oidc, issuer: 'https://far.example', audiences: [api], jwks_url: 'https://127.0.0.1:9/keys'}
        identity: {claims: {X-Tenant: tenant}}
        routes:
          - {name: open, path: /open, access: public, upstream: api}
          - {name: mine, path: '/users/{sub}/**', methods: [GET], upstream: api, issuers: [main]}
          - {name: write, path: '/users/{sub}/**', methods: [PUT], upstream: api, require: {scopes: {all: [write]}}}
          - {name: fresh, path: /fresh, upstream: api, require: {max_age: 10m}}
          - {name: others, path: /others, upstream: api, issuers: [other]}
          - {name: ids, path: /ids, upstream: api, issuers: [main, ids], token_uses: [id]}
        """

    let key: P256SigningKey
    let directory: String

    init() throws {
        key = try P256SigningKey.generate()
        directory = NSTemporaryDirectory() + "gatehouse-tests-" + UUID().uuidString
    }

    static let claims: JSONObject = [
        "iss": "https://id.example", "aud": "api", "sub": "ada", "exp": .number(JSONNumber(now + 600)), "jti": "t1",
        "auth_time": .number(JSONNumber(now - 60)), "scope": "read", "tenant": "acme, é",
    ]

    func token(_ change: (inout JSONObject) -> Void = { _ in }) throws -> [UInt8] {
        var claims = Self.claims
        change(&claims)
        let header: JSONObject = ["alg": "ES256", "kid": "k"]
        let signed = Base64URL.encode(header.encoded()) + "." + Base64URL.encode(claims.encoded())
        return Array((signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))).utf8)
    }

    func records() throws -> GatewayRecords {
        try GatewayStore.open(in: settings().stateDirectory, now: Self.now).records
    }

    func settings() throws -> GatewaySettings {
        let jwk: JSONObject = [
            "kty": "EC", "crv": "P-256", "kid": "k", "x": .string(Base64URL.encode(key.x)),
            "y": .string(Base64URL.encode(key.y)),
        ]
        let keys: JSON = ["keys": [.object(jwk)]]
        return try GatewaySettings.load(path: "\(directory)/settings.yaml", environment: [:]) {
            (path) throws(FileReadFailure) in
            path.hasSuffix("/keys.json") ? keys.encoded() : Array(Self.yaml.utf8)
        }
    }

    /// `accepted` or the reason code.
    func verdict(_ question: OfflineQuestion, _ token: [UInt8]? = nil) async throws -> String {
        var question = question
        question.now = question.now ?? Self.now
        let token = try token ?? self.token()
        switch try await finding(question, token) {
        case .accepted: return "accepted"
        case .rejected(let reason, _): return reason
        }
    }

    func finding(_ question: OfflineQuestion, _ token: [UInt8]) async throws -> OfflineVerifier.Finding {
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let settings = try settings()
        let rings = KeyRings(stateDirectory: settings.stateDirectory)
        return try await OfflineVerifier.with(settings, rings, question, logger: logger) { await $0.examine(token) }
    }

    @Test("Without a route any issuer's token is good, and the backend's headers are told")
    func headers() async throws {
        guard case .accepted("main", "access", let headers) = try await finding(.init(now: Self.now), token()) else {
            Issue.record("not accepted")
            return
        }
        let told = Dictionary(headers.map { ($0.name, $0.value) }) { first, _ in first }
        #expect(told["X-Auth-Subject"] == "ada" && told["X-Auth-Scopes"] == "read")
        #expect(told["X-Tenant"] == "acme%2C %C3%A9" && told["X-Auth-Expires"] == "\(Self.now + 600)")
        #expect(headers.count == told.count)
    }

    @Test(
        "Times are judged by the present that is asked about",
        arguments: [
            (-60, "accepted"), (0, "accepted"), (659, "accepted"), (660, "expired"),
        ] as [(Int64, String)])
    func times(offset: Int64, expected: String) async throws {
        #expect(try await verdict(.init(now: Self.now + offset)) == expected)
    }

    @Test("Without a time it is the machine's")
    func machineTime() async throws {
        let present = Int64(Date().timeIntervalSince1970)
        let old = try token { $0["exp"] = .number(JSONNumber(present - 61)) }
        let new = try token { $0["exp"] = .number(JSONNumber(present + 600)) }
        guard case .rejected("expired", _) = try await finding(.init(), old),
            case .accepted = try await finding(.init(), new)
        else {
            Issue.record("judged by another time")
            return
        }
    }

    @Test(
        "A token that is none has the gateway's reason",
        arguments: [("x", "malformed-token"), ("a.b.c", "malformed-token"), ("e30.e30.AA", "algorithm-not-allowed")])
    func reasons(text: String, reason: String) async throws {
        #expect(try await verdict(.init(), Array(text.utf8)) == reason)
    }

    @Test("A key that no set holds, and a token too large to be told to the backend, have theirs")
    func otherReasons() async throws {
        let other = try P256SigningKey.generate()
        let signed =
            Base64URL.encode(Array(#"{"alg":"ES256","kid":"n"}"#.utf8)) + "."
            + Base64URL.encode(Self.claims.encoded())
        let unknown = signed + "." + Base64URL.encode(try other.sign(Array(signed.utf8)))
        #expect(try await verdict(.init(), Array(unknown.utf8)) == "unknown-key")
        let large = try token { $0["tenant"] = .string(String(repeating: "x", count: 4097)) }
        #expect(try await verdict(.init(), large) == "identity-too-large")
    }

    static let routes: [(question: OfflineQuestion, expected: String)] = [
        (.init(route: "mine"), "accepted"), (.init(route: "others"), "issuer-not-accepted"),
        (.init(route: "write"), "insufficient-scope"), (.init(route: "fresh"), "accepted"),
        (.init(route: "fresh", now: now + 540), "accepted"),
        (.init(route: "fresh", now: now + 541), "authentication-too-old"),
        (.init(path: "/users/ada/photo"), "accepted"), (.init(path: "/users/ada?x=/users/bob"), "accepted"),
        (.init(path: "/users/%61da"), "accepted"), (.init(path: "/users/bob/photo"), "subject-mismatch"),
        (.init(path: "/users/Ada"), "subject-mismatch"), (.init(path: "/users/ada;x/photo"), "subject-mismatch"),
        (.init(path: "/users/ada", method: "HEAD"), "accepted"),
        (.init(path: "/users/ada", method: "PUT"), "insufficient-scope"),
        (.init(path: "/users/bob", method: "PUT"), "insufficient-scope"),
        (.init(route: "mine", path: "/users/bob"), "subject-mismatch"), (.init(path: "/others"), "issuer-not-accepted"),
        (.init(path: "/ids"), "token-use-not-accepted"), (.init(route: "ids"), "token-use-not-accepted"),
    ]

    @Test("A route's rules hold, with a path those of the route that takes it", arguments: routes)
    func rules(question: OfflineQuestion, expected: String) async throws {
        #expect(try await verdict(question) == expected)
    }

    static let unanswerable: [OfflineQuestion] = [
        .init(route: "nowhere"), .init(route: "open"), .init(path: "/open"), .init(path: "/nowhere"),
        .init(path: "/users/../x"), .init(path: "users"), .init(path: ""), .init(path: "/users/ada", method: "POST"),
        .init(path: "/users/ada", method: "a b"), .init(route: "write", path: "/users/ada"),
    ]

    @Test("A question that no token can answer is told as such", arguments: unanswerable)
    func errors(question: OfflineQuestion) async throws {
        await #expect(throws: StartupError.self) { try await verdict(question) }
    }

    @Test("Where no key set can be had, that is the reason")
    func noKeys() async throws {
        let far = try token { $0["iss"] = "https://far.example" }
        #expect(try await verdict(.init(), Self.withAlgorithm("RS256", far)) == "keys-unavailable")
    }

    /// The token with another algorithm in its header, and so with a signature that is wrong.
    static func withAlgorithm(_ name: String, _ token: [UInt8]) -> [UInt8] {
        let header: JSONObject = ["alg": .string(name), "kid": "k"]
        return Array(Base64URL.encode(header.encoded()).utf8) + token.drop { $0 != UInt8(ascii: ".") }
    }

    // MARK: Revocations

    @Test("An operator's revocation of a subject means all up to this second, for as many days as were said")
    func operatorRevocation() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let told = try await OperatorRevocation(settings(), records(), now: Self.now).revoke(
            .subject("ada"), issuer: "main", days: 2)
        #expect(told.contains("main") && told.contains("2 days"))
        let signedIn = { (time: Int64) in
            try token {
                $0["auth_time"] = .number(JSONNumber(time))
                $0["exp"] = .number(JSONNumber(Self.now + 400_000))
            }
        }
        #expect(try await verdict(.init(), signedIn(Self.now)) == "token-revoked")
        #expect(try await verdict(.init(), signedIn(Self.now + 1)) == "accepted")
        let end = Self.now + 2 * 86_400
        #expect(try await verdict(.init(now: end - 1), signedIn(Self.now)) == "token-revoked")
        #expect(try await verdict(.init(now: end), signedIn(Self.now)) == "accepted")
        await #expect(throws: StartupError.self) {
            try await OperatorRevocation(settings(), records()).revoke(.subject("ada"), issuer: nil, days: 2)
        }
        for value in ["", "a\0b", String(repeating: "a", count: 1025)] {
            await #expect(throws: StartupError.self) {
                try await OperatorRevocation(settings(), records()).revoke(.tokenID(value), issuer: "main", days: 2)
            }
        }
        await #expect(throws: StartupError.self) {
            try await OperatorRevocation(settings(), records()).revoke(.subject("ada"), issuer: "nobody", days: 2)
        }
    }

    static let revocations: [(Revocation.Target, isMeant: Bool)] = [
        (.tokenID("t1"), true), (.tokenID("t2"), false), (.subject("ada", before: now - 60), true),
        (.subject("ada", before: now - 61), false), (.subject("bob", before: now), false),
    ]

    func revoke(_ target: Revocation.Target, issuer: String = "https://id.example", endsAt: Int64 = now + 9)
        async throws
    {
        let store = StoredRevocations(try GatewayStore.open(in: "\(directory)/state"))
        try await store.keep([RevocationRecord(Revocation(issuer: issuer, target, endsAt: endsAt))])
    }

    @Test(
        "What the state directory says to be revoked counts, unless it is not to be looked at", arguments: revocations)
    func revoked(target: Revocation.Target, isMeant: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await revoke(target)
        #expect(try await verdict(.init()) == (isMeant ? "token-revoked" : "accepted"))
        // Before anything that the route requires, as in the gate.
        #expect(try await verdict(.init(route: "write")) == (isMeant ? "token-revoked" : "insufficient-scope"))
        #expect(try await verdict(.init(looksAtRevocations: false)) == "accepted")
        #expect(try await verdict(.init(now: Self.now + 9)) == "accepted")
    }

    @Test("Another issuer's revocation means nothing, and no database is made")
    func nothingRevoked() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try await verdict(.init()) == "accepted")
        #expect(!FileManager.default.fileExists(atPath: directory))
        try await revoke(.tokenID("t1"), issuer: "https://other.example")
        #expect(try await verdict(.init()) == "accepted")
    }

    @Test("What a gateway writes meanwhile counts")
    func besides() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = StoredRevocations(try GatewayStore.open(in: "\(directory)/state"))
        #expect(try await verdict(.init()) == "accepted")
        try await store.keep([
            RevocationRecord(Revocation(issuer: "https://id.example", .tokenID("t1"), endsAt: Self.now + 9))
        ])
        #expect(try await verdict(.init()) == "token-revoked")
    }

    @Test("Where it can't be told what is revoked, no token is judged unless that is not to be looked at")
    func unreadable() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: "\(directory)/state", withIntermediateDirectories: true)
        try Data("no database at all".utf8).write(to: URL(fileURLWithPath: "\(directory)/state/gatehouse.sqlite"))
        await #expect(throws: StartupError.self) { try await verdict(.init()) }
        #expect(try await verdict(.init(looksAtRevocations: false)) == "accepted")
    }
}
