import Cryptography
import SettingsReader
import Testing

@testable import LocalPool

@Suite("The configuration file")
struct ConfigurationTests {
    static let minimal = """
        pool_id: us-east-1_X
        client: {id: abc, secret: "${SECRET}"}
        database: ":memory:"
        """
    static let secret = "0123456789abcdef01234567"

    static func parse(_ text: String) throws(SettingsErrors) -> LocalPoolConfiguration {
        try LocalPoolConfiguration.load(path: "f.yaml", environment: ["SECRET": secret, "PORT": "1234"]) {
            (_) throws(FileReadFailure) in Array(text.utf8)
        }
    }

    @Test("What isn't given has its default, and the environment is put in")
    func defaults() throws {
        let configuration = try Self.parse(Self.minimal)
        #expect(configuration.poolID == "us-east-1_X")
        #expect(configuration.clients[0].secret?.exposeText() == Self.secret)
        #expect(configuration.host == "127.0.0.1")
        #expect(configuration.port == 9229)
        #expect(configuration.endpoint == nil)
        #expect(configuration.lifetimes.refreshToken == 2_592_000)
        #expect(configuration.hasGetTokensFromRefreshToken)
        #expect(!configuration.rotation.isEnabled)
        #expect(configuration.users.isEmpty)
    }

    @Test("Every key is taken")
    func everyKey() throws {
        let configuration = try Self.parse(
            """
            listen: {host: "::1", port: "${PORT}"}
            endpoint: https://pool.test/
            region: eu-central-1
            pool_id: eu-central-1_X
            client: {id: abc, secret: \(Self.secret)}
            database: state/x.sqlite
            lifetimes: {access_token: 1, id_token: 2, refresh_token: 3, confirmation_code: 4}
            rotation: {enabled: true, retry_grace: 60}
            prevent_user_existence_errors: false
            get_tokens_from_refresh_token: false
            lockout: false
            users:
              - email: a@example.com
                password: long-enough
                sub: some-sub
                groups: [g, h]
                attributes: {name: A, "custom:x": "1"}
                confirmed: false
            """)
        #expect(configuration.host == "::1")
        #expect(configuration.port == 1234)
        #expect(configuration.endpoint == "https://pool.test")
        #expect(configuration.databasePath == "state/x.sqlite")
        #expect(configuration.lifetimes.accessToken == 1)
        #expect(configuration.lifetimes.idToken == 2)
        #expect(configuration.lifetimes.refreshToken == 3)
        #expect(configuration.lifetimes.confirmationCode == 4)
        #expect(configuration.rotation.isEnabled)
        #expect(configuration.rotation.retryGrace == 60)
        #expect(!configuration.preventsUserExistenceErrors)
        #expect(!configuration.hasGetTokensFromRefreshToken)
        #expect(!configuration.hasLockout)
        let user = try #require(configuration.users.first)
        #expect(user.email == "a@example.com")
        #expect(user.password.exposeText() == "long-enough")
        #expect(user.sub == "some-sub")
        #expect(user.groups == ["g", "h"])
        #expect(user.attributes == ["name": "A", "custom:x": "1"])
        #expect(!user.isConfirmed)
    }

    @Test("Clients, the administrator and the rules are taken")
    func rules() throws {
        let configuration = try Self.parse(
            Self.minimal + """

                more_clients: [{id: def, flows: [ALLOW_USER_SRP_AUTH]}]
                administrator: {access_key_id: AKID, secret_access_key: key}
                lifetimes: {password_reset_code: 5, session: 6, temporary_password: 7}
                password_policy: {minimum_length: 12, require_symbols: true}
                mfa: {mode: required, methods: [EMAIL_OTP]}
                devices: opt_in
                hourly_limits: false
                password_cost: 10
                """)
        #expect(configuration.clients.map(\.id) == ["abc", "def"])
        #expect(configuration.clients[0].flows == LocalPoolConfiguration.Client.allFlows)
        #expect(configuration.clients[1].flows == ["ALLOW_USER_SRP_AUTH"])
        #expect(configuration.clients[1].secret == nil)
        #expect(configuration.administrator?.accessKeyID == "AKID")
        #expect(configuration.administrator?.secretAccessKey.exposeText() == "key")
        #expect(configuration.lifetimes.passwordResetCode == 5)
        #expect(configuration.lifetimes.session == 6)
        #expect(configuration.lifetimes.temporaryPassword == 7)
        #expect(configuration.passwords.minimumLength == 12)
        #expect(configuration.passwords.requiresSymbols)
        #expect(!configuration.passwords.requiresNumbers)
        #expect(configuration.mfa.mode == .required)
        #expect(configuration.mfa.methods == ["EMAIL_OTP"])
        #expect(configuration.devices == .optIn)
        #expect(!configuration.hasHourlyLimits)
        #expect(configuration.passwordCost == 10)
    }

    @Test("Triggers refuse all users or some")
    func triggers() throws {
        let triggers = try Self.parse(
            Self.minimal + """

                triggers: {pre_sign_up: {refuse: No}, custom_message: {refuse: Not you, users: [Eve@example.com]}}
                """
        ).triggers
        #expect(triggers.count == 2)
        #expect(triggers[.preSignUp]?.message == "No" && triggers[.preSignUp]?.users == nil)
        #expect(triggers[.customMessage]?.users == ["eve@example.com"])
    }

    @Test("The rule for names and the attribute schema are taken")
    func namesAndAttributes() throws {
        let configuration = try Self.parse(
            Self.minimal + """

                alias_attributes: [email, preferred_username]
                username_case_sensitive: true
                allow_admin_create_user_only: true
                attributes:
                  - {name: family_name, required: true, minimum: 1, maximum: 30}
                  - {name: "custom:age", type: Number, mutable: false}
                users:
                  - {username: Юлия, password: long-enough, attributes: {family_name: Y}}
                """)
        #expect(
            configuration.naming
                == .init(aliasAttributes: ["email", "preferred_username"], isCaseSensitive: true))
        #expect(configuration.onlyAdministratorsCreateUsers)
        #expect(configuration.schema.isClosed && configuration.schema.required == ["family_name"])
        let age = try #require(configuration.schema["custom:age"])
        #expect(age.kind == .number && !age.isMutable)
        #expect(configuration.schema["custom:plan"] == nil && configuration.schema["nickname"] != nil)
        #expect(configuration.users[0].username == "Юлия" && configuration.users[0].email.isEmpty)
    }

    /// The keys of the file itself.
    static let known = """
        (known here: administrator, alias_attributes, allow_admin_create_user_only, apple, attributes, \
        attributes_require_verification_before_update, client, custom_auth, database, devices, endpoint, \
        first_factors, get_tokens_from_refresh_token, groups, hourly_limits, identity_providers, lifetimes, \
        listen, lockout, mfa, more_clients, password_cost, password_policy, pool_id, prevent_user_existence_errors, region, rotation, \
        triggers, username_attributes, username_case_sensitive, users, web_authn)
        """

    static let errors: [(String, String)] = [
        (minimal + "\ndevices: maybe", "f.yaml:4: devices: must be one of off, always, opt_in (got \"maybe\")"),
        (
            minimal + "\nmfa: {methods: [PIGEON]}",
            "f.yaml:4: mfa.methods[0]: must be one of SMS_MFA, SOFTWARE_TOKEN_MFA, EMAIL_OTP (got \"PIGEON\")"
        ),
        (minimal + "\nmore_clients: [{id: abc}]", "f.yaml:4: more_clients[0]: another client has this id"),
        (minimal + "\ncolour: red", "f.yaml:4: colour: unknown key \(known)"),
        (minimal + "\nlisten: {hots: x}", "f.yaml:4: listen.hots: unknown key (did you mean \"host\"?)"),
        (
            minimal + "\nlisten: {port: 65536}",
            "f.yaml:4: listen.port: must be a whole number from 0 to 65535 (got \"65536\")"
        ),
        (minimal + "\nlockout: yes", "f.yaml:4: lockout: must be true or false (got \"yes\")"),
        (minimal + "\nregion: ${NOWHERE}", "f.yaml:4: region: the environment variable NOWHERE is not set"),
        (
            minimal.replacing("SECRET", with: "NOWHERE"),
            "f.yaml:2: client.secret: the environment variable NOWHERE is not set"
        ),
        (
            minimal + "\nusername_attributes: [email]\nalias_attributes: [email]",
            "f.yaml:5: alias_attributes: a pool has either these or username_attributes"
        ),
        (
            minimal + "\nattributes: [{name: colour}]",
            "f.yaml:4: attributes[0].name: must be one of Cognito's attributes, or custom: and a name"
        ),
        (
            minimal + "\nattributes: [{name: 'custom:a', required: true}]",
            "f.yaml:4: attributes[0].required: a custom attribute cannot be required"
        ),
        (
            minimal + "\nattributes: [{name: name, minimum: 2, maximum: 1}]",
            "f.yaml:4: attributes[0].maximum: is less than minimum"
        ),
        (
            minimal + "\nattributes: []\nusers: [{email: a@b.c, password: long-enough, attributes: {'custom:a': x}}]",
            "f.yaml:5: users[0].attributes.custom:a: the pool has no such attribute"
        ),
        (
            minimal + "\nusername_attributes: []\nusers: [{email: a@b.c, password: long-enough}]",
            "f.yaml:5: users[0].username: is missing"
        ),
        (minimal + "\nusers: {}", "f.yaml:4: users: must be a list of users, not a section"),
        (minimal + "\nusers: [{email: a@b.c}]", "f.yaml:4: users[0].password: is missing"),
        (
            minimal + "\nusername_attributes: [phone_number]\nusers: [{password: long-enough}]",
            "f.yaml:5: users[0].email: there must be this or the attribute phone_number"
        ),
        (
            minimal + "\nusers: [{email: a, password: long-enough}]",
            "f.yaml:4: users[0].email: must be an e-mail address (got \"a\")"
        ),
        (
            minimal + "\nusers: [{email: a@b.c, password: short}]",
            "f.yaml:4: users[0].password: breaks the pool's password policy"
        ),
        (
            minimal + "\nusers: [{email: a@b.c, password: long-enough, attributes: {sub: x}}]",
            "f.yaml:4: users[0].attributes.sub: not an attribute that can be given here"
        ),
        (
            minimal
                + "\nusers:\n- {email: a@b.c, password: long-enough, sub: x}\n"
                + "- {email: A@b.c, password: long-enough, sub: y}",
            "f.yaml:6: users[1].email: is there twice"
        ),
        (
            minimal
                + "\nusers:\n- {email: a@b.c, password: long-enough, sub: x}\n"
                + "- {email: d@b.c, password: long-enough, sub: x}",
            "f.yaml:6: users[1].sub: is there twice"
        ),
    ]

    @Test("A fault is reported with its line and key", arguments: errors)
    func error(text: String, expected: String) throws {
        let error = try #require(throws: SettingsErrors.self) { try Self.parse(text) }
        #expect(error.description == expected)
    }

    @Test("All faults are reported together")
    func allFaults() throws {
        let error = try #require(throws: SettingsErrors.self) {
            try Self.parse("a: 1\nb: 2\nclient: {secret: short}")
        }
        #expect(
            error.errors.map(\.description) == [
                "f.yaml:1: pool_id: is missing", "f.yaml:1: database: is missing",
                "f.yaml:1: a: unknown key \(Self.known)", "f.yaml:2: b: unknown key \(Self.known)",
                "f.yaml:3: client.id: is missing",
                "f.yaml:3: client.secret: must be 24 to 64 letters, digits, _ or +",
            ])
    }

    @Test("What is no YAML mapping is a fault", arguments: ["", "- a", "a: [", "a: 1\na: 2"])
    func noMapping(text: String) {
        #expect(throws: SettingsErrors.self) { try Self.parse(text) }
    }

    @Test("No secret shows when a configuration is printed")
    func redaction() throws {
        let text = "\(try Self.parse(Self.minimal + "\nusers: [{email: a@b.c, password: my-password}]"))"
        #expect(!text.contains(Self.secret))
        #expect(!text.contains("my-password"))
    }
}
