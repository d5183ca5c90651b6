import Cryptography
import Foundation
import Pipeline
import Sealing
import SettingsReader
import Store
import TestSupport
import Testing

@testable import Accounts
@testable import Admin
@testable import Gateway
@testable import Keys
@testable import Listener
@testable import Settings

@Suite("Starting a gateway")
struct StartTests {
    // MARK: Sealing keys

    static func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    static func ownSealingKeys(_ path: String) async throws -> SealingKeyRing {
        try await SealingKeys.ring(KeyRings(stateDirectory: path)[.sealing])
    }

    @Test("Without a configured key one is made, for the owner's eyes only, and found again")
    func keptKey() async throws {
        try await withDirectory { path in
            let first = try await Self.ownSealingKeys(path)
            #expect(try Self.permissions(path + "/sealing-keys.json") == 0o600)
            #expect(try Self.permissions(path) == 0o700)
            let second = try await Self.ownSealingKeys(path)
            #expect(try Fixture.fits(first, second))
            #expect(try Fixture.fits(second, first))
            try await withDirectory { other in
                let foreign = try await Self.ownSealingKeys(other)
                #expect(try !Fixture.fits(first, foreign))
            }
        }
    }

    @Test("Configured keys are used instead: the first seals, all open, nothing is written")
    func configuredKeys() async throws {
        try await withDirectory { path in
            let old = SealingKeySettings(id: "old", key: Secret(Array(repeating: 7, count: 32)))
            let new = SealingKeySettings(id: "new", key: Secret(Array(repeating: 8, count: 32)))
            let before = try #require(try SealingKeys.ring([old]))
            let during = try #require(try SealingKeys.ring([new, old]))
            let after = try #require(try SealingKeys.ring([new]))
            #expect(try Fixture.fits(before, during))
            #expect(try Fixture.fits(during, after))
            #expect(try !Fixture.fits(before, after))
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test("A key file that was cut or cannot be written stops the start; no key is made in its place")
    func brokenKeyFile() async throws {
        try await withDirectory { path in
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for count in [0, 31, 33] {
                let bytes = Data(repeating: 1, count: count)
                let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
                #expect(
                    FileManager.default.createFile(
                        atPath: path + "/sealing.key", contents: bytes, attributes: attributes))
                await #expect(throws: SealingKeyError.length) { try await Self.ownSealingKeys(path) }
                #expect(FileManager.default.contents(atPath: path + "/sealing.key") == bytes)
            }
            // A directory's place is taken by a file.
            await #expect(throws: (any Error).self) {
                try await Self.ownSealingKeys(path + "/sealing.key/below")
            }
        }
    }

    // MARK: Settings that do not fit together

    static func settings(routes: String) throws -> GatewaySettings {
        let yaml = """
            listeners: [{address: '127.0.0.1:8080'}]
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            issuers: {users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}}
            sign_in: {cognito: {issuer: users, client_id: client1, client_secret: '${SECRET}'}}
            routes:
            \(routes)
            """
        return try GatewaySettings.load(path: "/settings.yaml", environment: ["SECRET": "s"]) {
            (path) throws(FileReadFailure) in
            guard path == "/settings.yaml" else { throw .notFound }
            return Array(yaml.utf8)
        }
    }

    @Test("Routes that fit together pass, also beside the gateway's own endpoints")
    func goodRoutes() throws {
        let settings = try Self.settings(
            routes: """
                  - {path: /api/**, upstream: api}
                  - {path: /api/v1/auth/**, upstream: api, access: public}
                  - {path: /a, upstream: api, methods: [GET]}
                  - {path: /a, upstream: api, methods: [POST], name: write-a}
                """)
        try GatewayService.check(settings)
        let gate = try Wiring.gate(settings, issuers: settings.trustedIssuers)
        let operations = CognitoAccounts.operations(hasHosted: false)
        let own = gate.routes.routes.prefix(operations.count).map(\.name)
        #expect(own == operations.map { "gatehouse:\($0.name)" })
        let upstreams = Wiring.upstreamOfRoute(gate, settings.upstreams.map(\.upstream))
        #expect(upstreams == own.map { _ in nil } + [0, 0, 0, 0])
    }

    @Test("Each clash of routes is told with its line, its place and the other route's name")
    func clashes() throws {
        let settings = try Self.settings(
            routes: """
                  - {path: /a, upstream: api, name: first}
                  - {path: /a, upstream: api, name: second, methods: [GET]}
                  - {path: /api/v1/auth/login, upstream: api, name: mine, methods: [POST]}
                  - {path: /b, upstream: api, name: sound}
                """)
        let error = #expect(throws: SettingsErrors.self) { try GatewayService.check(settings) }
        let errors = try #require(error).errors
        #expect(errors.map(\.line) == [7, 8])
        #expect(errors.map(\.keyPath).allSatisfy { $0.hasPrefix("routes[") })
        let messages = errors.map(\.message)
        #expect(messages[0].contains("\"first\"") && messages[0].contains("\"second\""))
        #expect(messages[1].contains("\"gatehouse:login\"") && messages[1].contains("\"mine\""))
    }

    /// A certificate and its key for secp256k1, which is good to sign with but not for TLS.
    private static let uncommon = """
        -----BEGIN CERTIFICATE-----
        MIIBbjCCARSgAwIBAgIUKLNTsS52m3nfl2RUi9rYaUPrZy8wCgYIKoZIzj0EAwIw
        DTELMAkGA1UEAwwCazEwIBcNMjYxMTIyMDg1NjMxWhgPMjEyNjEwMjkwODU2MzFa
        MA0xCzAJBgNVBAMMAmsxMFYwEAYHKoZIzj0CAQYFK4EEAAoDQgAEgqmlf0iMgyzv
        ws0YvgHVvPCji2YVi2rEHluLTWlCY01MfoWrxiufRWAueXBJmdrvfWr+wuxnjy6e
        WWTkHHnEv6NTMFEwHQYDVR0OBBYEFOdvHmIQg/8v9a2Q63s7W4CAUQjqMB8GA1Ud
        IwQYMBaAFOdvHmIQg/8v9a2Q63s7W4CAUQjqMA8GA1UdEwEB/wQFMAMBAf8wCgYI
        KoZIzj0EAwIDSAAwRQIgLz6LBd0dYpUqsYvA6BKDRPuTXDKDyxEtwv7Rt1KD8d8C
        IQDkBSY4WSxWwq3F1Lo10zOjjH3JTc+gFdSXU+MyMGrWDw==
        -----END CERTIFICATE-----
        -----BEGIN PRIVATE KEY-----
        MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQgGwbKYuh8ZhK8fTKgzX5K
        DbwiVlOvfoltK1uVbA0gCQChRANCAASCqaV/SIyDLO/CzRi+AdW88KOLZhWLasQe
        W4tNaUJjTUx+havGK59FYC55cEmZ2u99av7C7GePLp5ZZOQcecS/
        -----END PRIVATE KEY-----
        """

    @Test("A certificate without a name is called by where it is named")
    func nameless() throws {
        let yaml = """
            listeners:
              - {address: '127.0.0.1:8080', tls: {certificates: [{certificate: a.pem, key: a.pem}]}}
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            routes: [{path: /a, upstream: api, access: public}]
            """
        let settings = try GatewaySettings.load(path: "/settings.yaml", environment: [:]) {
            (path) throws(FileReadFailure) in Array((path == "/settings.yaml" ? yaml : Self.uncommon).utf8)
        }
        func warning(_ names: [String]) -> String? {
            let shown = ShownCertificate.all(settings.listeners, [[ServedCertificate(names: names, expiresAt: 86_400)]])
            return shown.first?.warning(now: 0)?.description
        }
        #expect(
            warning([])
                == "the certificate listeners[0].tls.certificates[0].certificate on 127.0.0.1:8080 expires in 1 day")
        #expect(warning(["a.b"]) == "the certificate of a.b on 127.0.0.1:8080 expires in 1 day")
    }

    @Test("Clashes of routes and all certificates that TLS does not take are told together, by line")
    func allTogether() throws {
        let yaml = """
            listeners:
              - address: 127.0.0.1:8080
                tls:
                  certificates:
                    - {certificate: a.pem, key: a.pem}
                    - {certificate: a.pem, key: a.pem}
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            routes:
              - {path: /a, upstream: api, access: public, name: first}
              - {path: /a, upstream: api, access: public, name: second, methods: [GET]}
            """
        let settings = try GatewaySettings.load(path: "/settings.yaml", environment: [:]) {
            (path) throws(FileReadFailure) in Array((path == "/settings.yaml" ? yaml : Self.uncommon).utf8)
        }
        let error = #expect(throws: SettingsErrors.self) { try GatewayService.check(settings) }
        #expect(try #require(error).errors.map(\.line) == [5, 6, 10])
    }
}
