import Pipeline
import Testing

@testable import Settings

@Suite("Settings of user attributes")
struct UserAttributeSettingsTests {
    private static func yaml(_ section: String) -> String {
        """
        listeners: [{address: '127.0.0.1:8080'}]
        upstreams: {api: {url: 'http://127.0.0.1:8000'}}
        issuers:
          users: {user_pool_id: eu-west-1_Pool1, client_ids: [client1]}
          others: {user_pool_id: eu-west-1_Pool2, client_ids: [client2]}
          provider: {profile: oidc, issuer: 'https://id', audiences: [api], jwks_url: 'https://h'}
        sign_in:
          cognito:
            {issuer: users, client_id: client1, client_secret: s1, endpoint: 'https://cognito.example.amazonaws.com'}
        identity: {\(section)}
        routes: [{path: /api/**, upstream: api, issuers: [users]}]
        """
    }

    @Test("They have their defaults, and the endpoint of the pool's account calls or of its region")
    func values() throws {
        #expect(try load(Self.yaml("")).identity.userAttributes == nil)
        let settings = try load(Self.yaml("user_attributes: {issuer: users, attributes: [email, 'custom:plan']}"))
        let attributes = try #require(settings.identity.userAttributes)
        #expect(
            attributes.rule
                == UserAttributeRule(issuer: "users", attributes: ["email", "custom:plan"], failsOpen: false))
        #expect(attributes.timeout == .seconds(2))
        let endpointOfPool = attributes.endpoint(settings.signIn.pools).description
        #expect(endpointOfPool.hasPrefix("https://cognito.example.amazonaws.com"))
        let other = try load(
            Self.yaml(
                "user_attributes: {issuer: others, attributes: [updated_at], on_failure: open, timeout: 300ms}"))
        let changed = try #require(other.identity.userAttributes)
        #expect(changed.rule.failsOpen && changed.timeout == .milliseconds(300))
        let endpoint = changed.endpoint(other.signIn.pools).description
        #expect(endpoint.hasPrefix("https://cognito-idp.eu-west-1.amazonaws.com"))
    }

    @Test(
        "Faults have their place",
        arguments: [
            ("{attributes: [email]}", "identity.user_attributes.issuer"),
            ("{issuer: nobody, attributes: [email]}", "identity.user_attributes.issuer"),
            ("{issuer: provider, attributes: [email]}", "must be a user pool"),
            ("{issuer: users}", "identity.user_attributes.attributes"),
            ("{issuer: users, attributes: []}", "must name at least one"),
            ("{issuer: users, attributes: [sub]}", "must be an attribute of users"),
            ("{issuer: users, attributes: ['cognito:groups']}", "must be an attribute of users"),
            ("{issuer: users, attributes: [scope]}", "must be an attribute of users"),
            ("{issuer: users, attributes: [email, email]}", "is given more than once"),
            ("{issuer: users, attributes: [email], on_failure: maybe}", "identity.user_attributes.on_failure"),
            ("{issuer: users, attributes: [email], timeout: 1m}", "identity.user_attributes.timeout"),
            ("{issuer: users, attributes: [email], client: a}", "unknown key"),
        ])
    func faults(_ section: String, _ error: String) {
        let found = errors(Self.yaml("user_attributes: \(section)"))
        #expect(found.count == 1 && found[0].contains(error), "\(found)")
    }

    @Test(
        "A claim's path with a faulty name is told, wherever the pool's attributes are compared with it",
        arguments: ["[\"\"]", "[null]", "[[a]]", "[\"${UNSET}\"]", "[a, ' b']"])
    func claimPaths(_ path: String) {
        let plain = Self.yaml("")
        let requirement = "require: {claims: [{claim: \(path), equals: a}]}, issuers: [users]"
        let groups = """
            others: {profile: oidc, issuer: 'https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Pool1',
                audiences: [api], jwks_url: 'https://h', groups_claim: \(path)}
            """
        let others = "others: {user_pool_id: eu-west-1_Pool2, client_ids: [client2]}"
        for yaml in [
            Self.yaml("claims: {X-Tenant: \(path)}"),
            plain.replacing("issuers: [users]", with: requirement), plain.replacing(others, with: groups),
        ] {
            let found = errors(yaml)
            #expect(yaml != plain && found.contains { $0.contains("]: ") }, "\(found)")
        }
    }

    @Test("No attribute can stand for a claim that decides in access tokens")
    func reserved() {
        for name in ["iss", "client_id", "token_use", "auth_time", "exp", "iat", "jti", "origin_jti", "username"] {
            #expect(!UserAttributeRule.canHold(name))
        }
    }
}
