import Cryptography
import Encoding
import Logging
import Pipeline
import SettingsReader
import TestSupport
import Testing

@testable import Accounts
@testable import Clocks
@testable import Diagnostics
@testable import Gateway
@testable import Keys
@testable import Proxy
@testable import Settings
@testable import Store

@Suite("Sessions from settings to endpoints")
struct SessionWiringTests {
    private static let issuer = "https://api.example.com"

    static func settings(_ apple: String = "session: {issuer: sessions}", directory: String = "/none") throws
        -> GatewaySettings
    {
        let yaml = """
            listeners: [{address: '127.0.0.1:8080'}]
            state_directory: \(directory)
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            issuers:
              apple: {profile: apple, audiences: [app]}
              sessions: {profile: gatehouse, issuer: '\(issuer)', audiences: [api], own_keys: true}
            sign_in: {apple: {issuer: apple, \(apple)}}
            routes: [{path: /api/**, upstream: api, issuers: [sessions]}]
            """
        return try GatewaySettings.load(path: "/settings.yaml", environment: [:]) { (path) throws(FileReadFailure) in
            guard path == "/settings.yaml" else { throw .notFound }
            return Array(yaml.utf8)
        }
    }

    @Test("Endpoints and routes go together, and what the settings leave out has no path")
    func routes() throws {
        for (apple, count) in [
            ("session: {issuer: sessions}", 13), ("session: {issuer: sessions}, server_nonce: off", 12),
            ("session: {issuer: sessions}, notifications: false", 12), ("mode: forward, upstream: api", 2),
        ] {
            let settings = try Self.settings(apple)
            let gate = try Wiring.gate(settings, issuers: settings.trustedIssuers)
            let endpoints = Wiring.endpoints(settings)
            #expect(endpoints.count == count + 1, "the key set is published beside them")
            for (number, endpoint) in endpoints.enumerated() {
                guard case .session(let operation) = endpoint else { continue }
                let route = try #require(gate.routes.routes.first { $0.destination == .endpoint(number) })
                #expect(route.pattern.description == "/api/auth/\(operation.path)")
                #expect(route.deniesSuccess)
                #expect((route.access == .required) == (operation.bearer == .required))
                if route.access == .required { #expect(route.issuers == ["sessions"] && route.tokenUses == [.session]) }
            }
        }
    }

    @Test("Keys of sessions stay for as long as any token that they signed can be refreshed")
    func schedule() throws {
        let schedule = try #require(
            RotationSchedule.sessionKeys(
                try Self.settings("session: {issuer: sessions, lifetime: 10d, refresh_within: 2d}")))
        #expect(schedule.keepPrevious == 13 * 86_400)
        #expect(schedule.rotateEvery == 30 * 86_400 && schedule.publishAhead == 3600)
    }

    static func ownKeys(_ settings: GatewaySettings, now: Int64? = nil) -> OwnKeys {
        OwnKeys(settings, KeyRings(stateDirectory: settings.stateDirectory), now: now)
    }

    @Test("What sealed Apple's tokens of users stays, because these end with their users only")
    func sealingKeys() async throws {
        for keepsTokens in [false, true] {
            try await withDirectory { path in
                var settings = try Self.settings(directory: path)
                if keepsTokens {
                    settings.signIn.apple?.server = AppleServerSettings(
                        teamID: "T", keyID: "K", privateKey: Secret("unread"),
                        endpoint: ServiceURL(scheme: .https, host: "apple.example", port: 443, path: ""),
                        timeout: .seconds(1))
                }
                _ = try await Self.ownKeys(settings, now: 0).generate(.sealing)
                for year in 1...3 as ClosedRange<Int64> {
                    _ = try await Self.ownKeys(settings, now: year * 366 * 86_400).rotate(.sealing)
                }
                #expect(try await Self.ownKeys(settings).list(.sealing).count == (keepsTokens ? 4 : 2))
            }
        }
    }

    @Test("A rotated sealing key stays for as long as a device token that it sealed is good")
    func sealingKeysOfDevices() async throws {
        try await withDirectory { path in
            let yaml = """
                listeners: [{address: '127.0.0.1:8080'}]
                state_directory: \(path)
                upstreams: {api: {url: 'http://127.0.0.1:8000'}}
                issuers: {pool: {profile: cognito, user_pool_id: eu-west-1_AbCdEfGhI, client_ids: [1example23456789]}}
                sign_in: {cognito: {issuer: pool, client_id: 1example23456789, client_secret: s3cret}}
                routes: [{path: /a, upstream: api}]
                """
            let settings = try GatewaySettings.load(path: "/settings.yaml", environment: [:]) {
                (_) throws(FileReadFailure) in Array(yaml.utf8)
            }
            _ = try await Self.ownKeys(settings, now: 0).generate(.sealing)
            // Refresh tokens are good for 30 days unless the settings say otherwise, device tokens for 90.
            for day in [1, 60] as [Int64] { _ = try await Self.ownKeys(settings, now: day * 86_400).rotate(.sealing) }
            #expect(try await Self.ownKeys(settings).list(.sealing).count == 3)
            _ = try await Self.ownKeys(settings, now: 92 * 86_400).rotate(.sealing)
            #expect(try await Self.ownKeys(settings).list(.sealing).count == 3)
        }
    }

    @Test("Without a gateway a session is verified with the keys in the state directory")
    func offline() async throws {
        try await withDirectory { path in
            let settings = try Self.settings(directory: path)
            let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
            let keys = SessionKeyService(
                AssertionKeyService(
                    storage: KeyRingFile(.session, stateDirectory: path),
                    schedule: try #require(RotationSchedule.sessionKeys(settings)), logger: logger,
                    now: { WallClock.seconds() }, publish: {}))
            #expect(keys.signing == nil && keys.keySet == nil)
            try await keys.keys.follow()
            let now = WallClock.seconds()
            let claims: JSONObject = [
                "iss": .string(Self.issuer), "aud": "api", "sub": "ada", "sid": "s", "jti": "s.0", "rotation": 0,
                "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 3600)),
                "auth_time": .number(JSONNumber(now)), "groups": ["driver"],
            ]
            let key = try #require(keys.signing)
            let token = Array(try key.token(of: claims, type: "session+jwt").utf8)
            let question = OfflineQuestion(
                route: nil, path: "/api/x", method: "GET", now: nil, looksAtRevocations: true)
            try await OfflineVerifier.with(settings, KeyRings(stateDirectory: path), question, logger: logger) {
                verifier in
                guard case .accepted(let issuer, let use, let headers) = await verifier.examine(token) else {
                    return #expect(Bool(false))
                }
                #expect(issuer == "sessions" && use == "session")
                #expect(headers.contains { $0.name == "X-Auth-Groups" && $0.value == "driver" })
            }
        }
    }
}
