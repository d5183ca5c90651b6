import Cryptography
import Pipeline
import Testing

@testable import Settings

@Suite("Settings of sign-in with Apple")
struct AppleSignInTests {
    private static func yaml(_ apple: String, sessions: String = "own_keys: true", more: String = "") -> String {
        """
        listeners: [{address: '127.0.0.1:8080'}]
        upstreams: {api: {url: 'http://127.0.0.1:8000'}}
        issuers:
          apple: {profile: apple, audiences: [com.example.app, com.example.pro]}
          sessions: {profile: gatehouse, issuer: 'https://api.example.com', audiences: [api, web], \(sessions)}
          users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}
        sign_in: {apple: {\(apple)}\(more)}
        routes: [{path: /api/**, upstream: api, issuers: [sessions]}]
        """
    }

    private static let key: String = {
        guard let key = try? P256SigningKey.generate(), let pem = try? key.privateKeyPEM() else { return "" }
        return pem.exposeText()
    }()

    @Test("The smallest section has the defaults")
    func defaults() throws {
        let settings = try load(Self.yaml("issuer: apple, session: {issuer: sessions}"))
        let apple = try #require(settings.signIn.apple)
        #expect(apple.prefix == "/api/auth" && apple.signIn.mode == .terminate && !apple.signIn.forwardsLegacy)
        #expect(apple.signIn.maximumTokenAge == 600 && apple.signIn.serverNonce == .optional)
        #expect(apple.signIn.serverNonceLifetime == 300 && apple.notifications && apple.signIn.roles.isEmpty)
        #expect(apple.upstream == nil && apple.server == nil)
        let session = try #require(apple.session)
        let day: Int64 = 86_400
        #expect(session.audience == "api" && session.lifetime == day * 30 && session.refreshWithin == day * 7)
        #expect(session.absoluteLifetime == day * 365 && session.idleLifetime == day * 37)
        #expect(session.rotateEvery == day * 30 && session.publishAhead == 3600)
        #expect(settings.issuers[1].keySource == .own)
    }

    @Test("Each key says otherwise")
    func values() throws {
        let yaml = Self.yaml(
            """
            issuer: apple, prefix: /auth, roles: {com.example.app: customer, com.example.pro: driver},
            role_conflict_message: Use the other app., legacy_user_identifier: forward, upstream: api,
            maximum_token_age: 5m, server_nonce: required, server_nonce_lifetime: 1m, notifications: false,
            session: {issuer: sessions, audience: web, lifetime: 10d, refresh_within: 1d, absolute_lifetime: 90d,
              idle_lifetime: 20d, rotate_every: 7d, publish_ahead: 2h},
            server: {team_id: T1, key_id: K1, private_key: 'file:key.p8', endpoint: 'http://127.0.0.1:1',
              allow_insecure_http: true, timeout: 2s}
            """)
        let apple = try #require(try load(yaml, files: ["/etc/gatehouse/key.p8": Self.key + "\n"]).signIn.apple)
        #expect(apple.signIn.roles == ["com.example.app": "customer", "com.example.pro": "driver"])
        #expect(apple.signIn.roleConflict.message(for: "driver") == "Use the other app." && apple.prefix == "/auth")
        #expect(apple.signIn.forwardsLegacy && apple.upstream == "api")
        #expect(apple.signIn.maximumTokenAge == 300 && apple.signIn.serverNonce == .required && !apple.notifications)
        #expect(apple.session?.audience == "web" && apple.session?.idleLifetime == 20 * 86_400)
        #expect(apple.server?.teamID == "T1" && apple.server?.endpoint.description == "http://127.0.0.1:1")
        #expect(apple.server?.privateKey.exposeText() == Self.key)
        #expect(!String(reflecting: apple).contains("PRIVATE KEY"))
    }

    @Test("The message of a role conflict can be another one for each role")
    func roleConflict() throws {
        let roles = "roles: {com.example.app: customer, com.example.pro: driver}"
        let yaml = "issuer: apple, \(roles), role_conflict_message: {driver: Use the Pro app.}, \(Self.session)"
        let messages = try #require(try load(Self.yaml(yaml)).signIn.apple).signIn.roleConflict
        #expect(messages.message(for: "driver") == "Use the Pro app.")
        for role in ["customer", "Driver", nil] {
            #expect(messages.message(for: role) == "This account is in use with another app.")
        }
    }

    @Test("Forwarding needs an upstream and no sessions")
    func forward() throws {
        let apple = try load(Self.yaml("issuer: apple, mode: forward, upstream: api")).signIn.apple
        #expect(apple?.session == nil && apple?.notifications == false && apple?.upstream == "api")
    }

    private static let session = "session: {issuer: sessions}"

    @Test(
        "What contradicts itself is a fault at its place",
        arguments: [
            (session, "sign_in.apple.issuer: is missing"),
            ("issuer: users, \(session)", "must be Apple: issuers.users has another profile than apple"),
            ("issuer: apple", "sign_in.apple: needs session, unless mode is forward"),
            ("issuer: apple, mode: forward", "needs upstream"),
            ("issuer: apple, mode: forward, upstream: api, \(session)", "session: has no effect with mode: forward"),
            ("issuer: apple, mode: forward, upstream: api, notifications: true", "has no effect with mode: forward"),
            ("issuer: apple, upstream: api, \(session)", "sign_in.apple.upstream: has no effect without"),
            ("issuer: apple, legacy_user_identifier: forward, \(session)", "needs upstream"),
            ("issuer: apple, session: {issuer: users}", "must have profile: gatehouse and own_keys: true"),
            ("issuer: apple, session: {issuer: sessions, audience: x}", "must be one of issuers.sessions.audiences"),
            ("issuer: apple, session: {issuer: sessions, refresh_within: 8d}", "must be a duration from 0s to 7d"),
            (
                "issuer: apple, session: {issuer: sessions, absolute_lifetime: 10d}",
                "sign_in.apple.session.absolute_lifetime: must not be shorter than lifetime"
            ),
            (
                "issuer: apple, session: {issuer: sessions, idle_lifetime: 10d}",
                "sign_in.apple.session.idle_lifetime: must not be shorter than lifetime"
            ),
            (
                "issuer: apple, session: {issuer: sessions, rotate_every: 2h, publish_ahead: 3h}",
                "must not be shorter than publish_ahead"
            ),
            (
                "issuer: apple, role_conflict_message: {pilot: Walk.}, \(session)",
                "sign_in.apple.role_conflict_message.pilot: \"pilot\" is none of the roles in sign_in.apple.roles"
            ),
            ("issuer: apple, roles: {com.example.app: a}, \(session)", "has no role for com.example.pro"),
            ("issuer: apple, roles: {com.other: a}, \(session)", "\"com.other\" is none of issuers.apple.audiences"),
            ("issuer: apple, \(session), server: {team_id: T, key_id: K}", "private_key: is missing"),
            (
                "issuer: apple, \(session), server: {team_id: T, key_id: K, private_key: abc}",
                "must be a private key of P-256 in PEM"
            ),
            (
                "issuer: apple, \(session), server: {team_id: T, key_id: K, private_key: abc, endpoint: 'http://h'}",
                "Apple is called over https only"
            ),
            ("issuer: apple, \(session), maximum_age: 3m", "unknown key"),
        ])
    func faulty(apple: String, expected: String) {
        let found = errors(Self.yaml(apple))
        #expect(found.contains { $0.contains(expected) }, "\(found)")
    }

    @Test("No more keys are published than a verifier takes of one set, those of assertions among them")
    func publishedKeys() {
        func found(_ session: String, _ assertion: String = "") -> [String] {
            errors(Self.yaml("issuer: apple, session: {issuer: sessions, \(session)}") + assertion)
        }
        let limit = "lifetime: 30d, refresh_within: 0s, rotate_every: 12h"
        let place = "sign_in.apple.session.rotate_every: must be longer: "
        #expect(found("rotate_every: 12h").contains { $0.contains(place + "78 keys would be published") })
        #expect(found("rotate_every: 1d") == [] && found("lifetime: 365d") == [])
        #expect(found(limit) == [])
        // There are 64 keys of sessions alone, and three more of assertions.
        let assertions = "\nidentity: {assertion: {issuer: g}}"
        #expect(found(limit, assertions).contains { $0.contains(place + "67 keys would be published") })
        let hourly = "\nidentity: {assertion: {issuer: g, rotate_every: 1h}}"
        #expect(found("rotate_every: 1d", hourly).contains { $0.contains(place + "66 keys would be published") })
    }

    @Test("Keys are the gateway's own or another's, and no pool has the same paths")
    func others() {
        let both = errors(
            Self.yaml("issuer: apple, \(Self.session)", sessions: "own_keys: true, jwks_url: 'https://h/k'"))
        #expect(both.contains { $0.contains("must not be true beside jwks_url or jwks_file") }, "\(both)")
        let pool = ", cognito: {issuer: users, client_id: client1, client_secret: s, prefix: /api/auth}"
        let clash = errors(Self.yaml("issuer: apple, \(Self.session)", more: pool))
        #expect(clash.contains { $0.contains("has the prefix /api/auth of a user pool") }, "\(clash)")
    }
}
