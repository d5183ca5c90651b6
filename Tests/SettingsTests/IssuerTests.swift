import Cryptography
import Encoding
import Pipeline
import SettingsReader
import Testing

@testable import Settings

@Suite("Settings: issuers of every profile")
struct IssuerTests {
    /// RFC 7515, A.3.1.
    static let keySet = """
        {"keys":[{"kty":"EC","crv":"P-256","kid":"1","alg":"ES256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}]}
        """
    static let files = [
        "/etc/gatehouse/keys.json": keySet, "/etc/gatehouse/none.json": "{}",
        "/etc/gatehouse/unusable.json": #"{"keys":[{"kty":"EC"}]}"#, "/run/short": "0123456789abcdef0123456789abcde",
        "/run/secret": "0123456789abcdef0123456789abcdef\n",
    ]

    static func issuer(_ yaml: String) throws -> IssuerSettings {
        var sample = Sample()
        sample.issuers = "issuers: {users: \(yaml)}"
        sample.routes = "routes: [{path: /a, upstream: api, issuers: [users]}]"
        return try #require(try load(sample.yaml, files: files).issuers.first)
    }

    @Test("Apple's issuer and keys are known")
    func apple() throws {
        let issuer = try Self.issuer("{profile: apple, audiences: [com.example.app]}")
        #expect(issuer.issuer == "https://appleid.apple.com")
        #expect(issuer.keySource == .url("https://appleid.apple.com/auth/keys"))
        #expect(issuer.algorithms == [.rs256] && issuer.tokenUses == [.id])
        let local = try Self.issuer(
            """
            {profile: apple, audiences: [a], issuer: 'http://h', jwks_url: 'http://h/keys', allow_insecure_http: true}
            """)
        #expect(local.issuer == "http://h" && local.keySource == .url("http://h/keys"))
    }

    @Test("A key set of Apple's is used for a day, others for an hour, unless the settings say otherwise")
    func lifetime() throws {
        var sample = Sample()
        sample.issuers = """
            issuers:
              users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}
              apple: {profile: apple, audiences: [a]}
            """
        for (more, expected) in [
            ("", [3600, 86_400]), ("key_sets: {maximum_lifetime: 2h}", [7200, 7200]),
            ("key_sets: {minimum_lifetime: 3h}", [10_800, 86_400]),
        ] as [(String, [Int64])] {
            sample.more = more
            let settings = try load(sample.yaml)
            let found = settings.issuers.map { settings.keySets.maximumLifetime(of: $0).components.seconds }
            #expect(found == expected)
        }
    }

    @Test(
        "A provider's keys come from a URL, its metadata, a file or a secret",
        arguments: [
            ("jwks_url: 'https://h/k'", .url("https://h/k")),
            ("discovery: true", .discovery("https://id.example/x/.well-known/openid-configuration")),
            ("jwks_file: keys.json, algorithms: [ES256]", .document(Array(keySet.utf8))),
            (
                "secret: 'file:/run/secret', key_id: k",
                .secret(Secret("0123456789abcdef0123456789abcdef"), keyID: "k")
            ),
            ("secret: 'file:/run/secret'", .secret(Secret("0123456789abcdef0123456789abcdef"), keyID: nil)),
        ] as [(String, Issuer.KeySource)])
    func keySources(yaml: String, expected: Issuer.KeySource) throws {
        let issuer = try Self.issuer("{profile: oidc, issuer: 'https://id.example/x/', audiences: [api], \(yaml)}")
        #expect(issuer.keySource == expected)
        #expect(issuer.issuer == "https://id.example/x/")
    }

    @Test("What a provider's tokens must be follows from the settings")
    func rules() throws {
        let usual = try Self.issuer("{profile: oidc, issuer: accounts.example, audiences: [a], jwks_url: 'https://h'}")
        guard case .openID(let rules) = usual.rules else { throw WrongProfile() }
        #expect(rules == OpenIDRules(audiences: ["a"]))
        #expect(usual.algorithms == [.rs256] && usual.tokenUses == [.access])
        let other = try Self.issuer(
            """
            {profile: oidc, issuer: 'https://id', audiences: [a, b], jwks_url: 'https://h', token_use: id,
            types: [JWT], required_claims: [tenant], groups_claim: [realm, roles], algorithms: [PS256, ES384]}
            """)
        guard case .openID(let rules) = other.rules else { throw WrongProfile() }
        #expect(rules.audiences == ["a", "b"] && rules.tokenUse == .id && rules.requiredClaims == ["tenant"])
        #expect(rules.types == TokenTypes(["jwt"], isRequired: true))
        #expect(rules.groupsClaim == ClaimPath(["realm", "roles"]))
        #expect(other.algorithms == [.ps256, .es384] && other.tokenUses == [.id])
        let secret = try Self.issuer("{profile: oidc, issuer: i, audiences: [a], secret: 'file:/run/secret'}")
        #expect(secret.algorithms == [.hs256])
    }

    struct WrongProfile: Error {}

    @Test("The gateway's own sessions are ES256, with keys from a file")
    func sessions() throws {
        let issuer = try Self.issuer(
            "{profile: gatehouse, issuer: 'https://gateway.example', audiences: [api], jwks_file: keys.json}")
        #expect(issuer.algorithms == [.es256] && issuer.tokenUses == [.session])
        #expect(issuer.keySource == .document(Array(Self.keySet.utf8)))
    }

    @Test(
        "Faults of profiles",
        arguments: [
            ("{profile: apple}", "issuers.users.audiences: is missing"),
            ("{profile: apple, audiences: []}", "issuers.users.audiences: must name at least one"),
            ("{profile: apple, audiences: [a], algorithms: [ES256]}", "issuers.users.algorithms: unknown key"),
            ("{profile: apple, audiences: [a], client_ids: [a]}", "issuers.users.client_ids: unknown key"),
            (
                "{profile: apple, audiences: [a], jwks_url: 'http://h'}",
                "issuers.users.jwks_url: key sets are fetched over https only"
            ),
            ("{profile: oidc, audiences: [a], jwks_url: 'https://h'}", "issuers.users.issuer: is missing"),
            ("{profile: oidc, issuer: i, audiences: [a]}", "issuers.users: needs jwks_url, discovery, jwks_file or"),
            (
                "{profile: oidc, issuer: 'https://i', audiences: [a], jwks_url: 'https://h', discovery: true}",
                "issuers.users: must have only one of jwks_url, discovery"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_url: 'https://h', secret: 'file:/run/secret'}",
                "issuers.users: must have only one of jwks_url, secret"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], discovery: true}",
                "issuers.users.issuer: must be a URL"
            ),
            (
                "{profile: oidc, issuer: 'http://i', audiences: [a], discovery: true}",
                "issuers.users.issuer: key sets are fetched over https only"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], secret: 'file:/run/short'}",
                "issuers.users.secret: must be at least as long as the digest of HS256"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], secret: 'file:/run/secret', algorithms: [HS384]}",
                "issuers.users.secret: must be at least as long as the digest of HS384"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], secret: 'file:/run/secret', algorithms: [RS256]}",
                "issuers.users.algorithms[0]: must be one of HS256, HS384, HS512"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], secret: 'file:/run/secret', algorithms: [HS256, HS384]}",
                "issuers.users.algorithms: must name one"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_url: 'https://h', algorithms: [HS256]}",
                "issuers.users.algorithms[0]: must be one of RS256"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_url: 'https://h', key_id: k}",
                "issuers.users.key_id: unknown key"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_file: none.json}",
                "issuers.users.jwks_file: is not a JSON Web Key Set: no-keys-member"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_file: unusable.json}",
                "issuers.users.jwks_file: holds no usable key; keys[0]: no kid"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_file: away.json}",
                "issuers.users.jwks_file: the file can't be read"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_file: keys.json}",
                "issuers.users.jwks_file: holds no usable key; keys[0]: alg is not one of the issuer's"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_url: 'https://h', types: [dpop+jwt]}",
                "issuers.users.types[0]: is the type of tokens for something else"
            ),
            (
                "{profile: oidc, issuer: i, audiences: [a], jwks_url: 'https://h', token_use: session}",
                "issuers.users.token_use: must be one of access, id"
            ),
            (
                "{profile: gatehouse, issuer: i, audiences: [a]}",
                "issuers.users: needs own_keys: true, jwks_url or jwks_file"
            ),
            (
                "{profile: gatehouse, issuer: i, audiences: [a], jwks_url: 'https://h', jwks_file: keys.json}",
                "issuers.users.jwks_file: must not be given beside jwks_url"
            ),
            ("{user_pool_id: us-east-1_P, client_ids: [c], token_uses: [session]}", "token_uses[0]: must be one of"),
        ])
    func errors(yaml: String, expected: String) {
        var sample = Sample()
        sample.issuers = "issuers: {users: \(yaml)}"
        sample.routes = "routes: [{path: /a, upstream: api, issuers: [users]}]"
        let found = SettingsTests.errors(sample.yaml, files: Self.files)
        #expect(found.count == 1 && found[0].contains(expected), "\(found)")
    }

    // MARK: Routes

    static let apps = """
        issuers:
          customers: {profile: apple, audiences: [a]}
          drivers: {profile: apple, audiences: [b]}
          users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]}
        """

    @Test("Several issuers of one iss are for different routes, which name them")
    func namesakes() throws {
        var sample = Sample()
        sample.issuers = Self.apps
        sample.routes = """
            routes:
              - {path: /a, upstream: api}
              - {path: /b, upstream: api, issuers: [users, drivers]}
              - {path: /c, upstream: api, issuers: [customers]}
            """
        let routes = try load(sample.yaml).routes
        #expect(routes.map(\.issuers) == [["users"], ["users", "drivers"], ["customers"]])
        #expect(routes.map(\.tokenUses) == [[.access], [.access, .id], [.id]])
        sample.routes = "routes: [{path: /a, upstream: api, issuers: [customers, drivers]}]"
        #expect(
            SettingsTests.errors(sample.yaml) == [
                "7: routes[0]: accepts issuers.customers and issuers.drivers, whose issuer is the same: name one"
            ])
        sample.issuers = sample.issuers.replacing("[b]", with: "[b], jwks_url: 'https://keys.amazonaws.com'")
        sample.routes = "routes: [{path: /a, upstream: api}]"
        #expect(
            SettingsTests.errors(sample.yaml) == [
                "5: issuers.drivers: has the same issuer as issuers.customers, but its keys from elsewhere"
            ])
    }

    @Test("A pool that is not at AWS is reported once, and AWS's other addresses and a written issuer are good")
    func poolElsewhere() {
        func errors(_ issuer: String, _ endpoint: String) -> [String] {
            var sample = Sample()
            sample.issuers = "issuers: {users: {user_pool_id: us-east-1_Pool1, client_ids: [client1]\(issuer)}}"
            sample.more = "sign_in: {cognito: {issuer: users, client_id: client1, client_secret: s\(endpoint)}}"
            return SettingsTests.errors(sample.yaml)
        }
        let elsewhere = (issuer: ", jwks_url: 'https://h/k'", endpoint: ", endpoint: 'https://h'")
        #expect(errors(elsewhere.issuer, elsewhere.endpoint).count == 1)
        #expect(errors(", issuer: 'https://h'" + elsewhere.issuer, elsewhere.endpoint) == [])
        for host in ["cognito-idp-fips.us-east-1.amazonaws.com", "vpce-1.cognito-idp.us-east-1.vpce.amazonaws.com"] {
            let found = errors(", jwks_url: 'https://\(host)/keys'", ", endpoint: 'https://\(host)'")
            #expect(found == [], "\(host)")
        }
    }

    @Test("A route that takes ID tokens only says so")
    func mustBeNamed() {
        var sample = Sample()
        sample.issuers = "issuers: {apple: {profile: apple, audiences: [a]}}"
        #expect(
            SettingsTests.errors(sample.yaml) == [
                "4: routes[0]: must name its issuers: ID tokens give access only where a route says so"
            ])
    }

    @Test("Users sign in with a pool, and nothing else")
    func signIn() {
        var sample = Sample()
        sample.issuers = Self.apps
        sample.more = "sign_in: {cognito: {issuer: drivers, client_id: c, client_secret: s, endpoint: 'https://h'}}"
        #expect(
            SettingsTests.errors(sample.yaml) == [
                "8: sign_in.cognito.issuer: must be a user pool: issuers.drivers has another profile than cognito"
            ])
    }
}
