import Pipeline
import Testing

@testable import Settings

@Suite("Settings of sign-in and its pools")
struct SignInPoolTests {
    private static func yaml(_ first: String = "", more: [String] = [], clients: String = "client1") -> String {
        let pools = more.map { "    - {issuer: drivers, client_id: client2, client_secret: s2, \($0)}\n" }.joined()
        return """
            listeners: [{address: '127.0.0.1:8080'}]
            upstreams: {api: {url: 'http://127.0.0.1:8000'}}
            issuers:
              users: {user_pool_id: us-east-1_Pool1, client_ids: [\(clients)]}
              drivers: {user_pool_id: eu-west-1_Pool2, client_ids: [client2]}
            sign_in:
              cognito: {issuer: users, client_id: client1, client_secret: s1\(first)}
              more_pools:
            \(pools.isEmpty ? "    []" : pools)
            routes: [{path: /api/**, upstream: api}]
            """
    }

    @Test("A pool has its defaults, and says otherwise key by key")
    func values() throws {
        let standard = try #require(try load(Self.yaml()).signIn.cognito)
        #expect(standard.signIn.flow == .password)
        #expect(standard.hosts.isEmpty)
        #expect(standard.signIn.deadline == .seconds(5))
        #expect(!standard.signIn.requiresDevice)
        #expect(!standard.signIn.concealsExistingUsers)
        #expect(!standard.signIn.propagateClientAddress)
        #expect(standard.signIn.totpIssuer == "Gatehouse")
        let other = try load(
            Self.yaml(
                ", flow: srp, hosts: [API.example.com, '[::1]'], timeout: 2s, device_binding: required, "
                    + "conceal_existing_users: true, send_client_address: true, totp_issuer: Example App, "
                    + "trigger_messages: false, end_sessions_on_password_change: false"))
        let changed = try #require(other.signIn.cognito)
        #expect(changed.signIn.flow == .srp)
        #expect(changed.hosts == ["api.example.com", "[::1]"])
        #expect(changed.signIn.deadline == .seconds(2))
        #expect(changed.signIn.requiresDevice)
        #expect(changed.signIn.concealsExistingUsers && changed.signIn.propagateClientAddress)
        #expect(changed.signIn.totpIssuer == "Example App")
        #expect(standard.signIn.triggerRefusals.showsMessages && standard.signIn.passwordChanges.endsOtherSessions)
        #expect(!changed.signIn.triggerRefusals.showsMessages && !changed.signIn.passwordChanges.endsOtherSessions)
    }

    @Test("Further pools are told apart by prefix or by hosts, and have their own region's endpoint")
    func morePools() throws {
        let more = ["prefix: /drivers", "hosts: [drivers.example.com]", "hosts: [other]"]
        let settings = try load(Self.yaml(more: more))
        #expect(settings.signIn.pools.map(\.issuer) == ["users", "drivers", "drivers", "drivers"])
        #expect(settings.signIn.pools[1].endpoint.description.contains("eu-west-1"))
    }

    @Test(
        "What passwordless sign-in needs is missing with its place, whether the file has the key or not",
        arguments: [
            ("{}", "factors: is missing"), ("{factors: []}", "factors: must name at least one factor"),
            ("{factors: [WEB_AUTHN]}", "relying_party_id: is needed for WEB_AUTHN"),
            ("{factors: [WEB_AUTHN], relying_party_id: ''}", "relying_party_id: "),
        ])
    func passwordless(section: String, error: String) {
        let found = errors(Self.yaml(", passwordless: \(section)"))
        #expect(found.count == 1)
        #expect(found.contains { $0.contains("sign_in.cognito.passwordless.\(error)") }, "\(found)")
        #expect(errors(Self.yaml(", passwordless: {factors: [EMAIL_OTP]}")).isEmpty)
    }

    @Test(
        "Pools that no request could tell apart are faults, with their place",
        arguments: [
            ("", ["flow: srp"], "sign_in.more_pools[0]: has the prefix /api/v1/auth of another pool"),
            (", hosts: [a.example]", ["hosts: [A.example]"], "sign_in.more_pools[0]: another pool with the prefix"),
            ("", ["prefix: /b", "prefix: /b"], "sign_in.more_pools[1]: has the prefix /b"),
            (
                ", cors: {origins: ['https://a.example']}", ["hosts: [b.example]"],
                "sign_in.more_pools[0]: another pool with the prefix /api/v1/auth has another cors"
            ),
            (
                ", cors: {origins: ['https://a.example']}",
                ["hosts: [b.example], cors: {origins: ['https://b.example']}"],
                "sign_in.more_pools[0]: another pool with the prefix /api/v1/auth has another cors"
            ),
        ] as [(String, [String], String)])
    func clashes(first: String, more: [String], error: String) {
        let found = errors(Self.yaml(first, more: more))
        #expect(found.count == 1)
        #expect(found.contains { $0.contains(error) }, "\(found)")
    }

    @Test("Pools of one prefix may have the same cors, and those of others their own")
    func crossOrigin() throws {
        let (a, b) = ("cors: {origins: ['https://a.example']}", "cors: {origins: ['https://b.example']}")
        let settings = try load(Self.yaml(", \(a)", more: ["hosts: [b.example], \(a)", "prefix: /b, \(b)"]))
        let pools = settings.signIn.pools
        #expect(pools.allSatisfy { $0.crossOrigin != nil })
        #expect(pools[0].crossOrigin == pools[1].crossOrigin && pools[0].crossOrigin != pools[2].crossOrigin)
    }

    @Test(
        "What is no flow, host or binding is a fault",
        arguments: [
            "flow: custom", "hosts: ['a.example:8080']", "device_binding: always", "timeout: 0s", "hosts: ['']",
        ])
    func wrongValues(_ value: String) {
        #expect(errors(Self.yaml(", \(value)")).count == 1)
    }

    @Test(
        "A registration makes no name that nobody signs in with",
        arguments: [
            ("username", "email", false), ("username", "username, email", true), ("generated", "username", false),
            ("generated", "username, phone_number", true),
        ])
    func registrationNames(name: String, names: String, isTaken: Bool) {
        let found = errors(Self.yaml(", registration_name: \(name), login_with: [\(names)]"))
        #expect(found.isEmpty == isTaken, "\(found)")
        #expect(isTaken || found.count == 1 && found[0].contains("sign_in.cognito.registration_name"), "\(found)")
    }

    @Test("Sessions are taken over of the listed clients, in their order")
    func takeover() throws {
        #expect(try load(Self.yaml()).signIn.cognito?.signIn.sessionTakeover == nil)
        let settings = try load(
            Self.yaml(", take_over_sessions: {client_ids: [client9, client1]}", clients: "client1, client9"))
        #expect(settings.signIn.cognito?.signIn.sessionTakeover?.clientIDs == ["client9", "client1"])
    }

    @Test(
        "Clients that nothing can be taken over of are faults",
        arguments: [
            ("{}", "take_over_sessions.client_ids"), ("{client_ids: []}", "must name at least one app client"),
            ("{client_ids: [client1, client1]}", "take_over_sessions.client_ids"),
            ("{client_ids: [other]}", "must be one of issuers.users.client_ids"),
            ("{client_ids: [c1, c2, c3, c4, c5, c6, c7, c8, c9]}", "must name at most 8"),
        ])
    func wrongTakeovers(_ value: String, _ error: String) {
        let clients = "client1, c1, c2, c3, c4, c5, c6, c7, c8, c9"
        let found = errors(Self.yaml(", take_over_sessions: \(value)", clients: clients))
        #expect(found.count == 1 && found[0].contains(error), "\(found)")
    }
}
