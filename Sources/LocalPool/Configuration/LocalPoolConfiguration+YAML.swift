internal import Cryptography
package import SettingsReader

extension LocalPoolConfiguration {
    /// Reads the YAML file at `path`; `Config/local-pool.yaml` shows all keys. `${NAME}` is replaced from
    /// `environment`, and secrets may be `file:<path>`.
    ///
    /// - Throws: ``SettingsErrors`` with all errors, including unknown keys.
    package static func load(
        path: String, environment: [String: String],
        readFile: @escaping (String) throws(FileReadFailure) -> [UInt8] = { (path) throws(FileReadFailure) in
            try readWholeFile(path)
        }
    ) throws(SettingsErrors) -> LocalPoolConfiguration {
        try SettingsReading(path: path, environment: environment, readFile: readFile)
            .read(LocalPoolConfiguration.init(reading:))
    }

    /// Invalid settings get some value: the recorded errors prevent the use of the configuration.
    private init(reading file: SettingsMapping) {
        let poolID = file.required("pool_id", .text) ?? ""
        self.init(poolID: poolID, clients: Client.all(of: file), databasePath: file.required("database", .text) ?? "")
        region = file.value("region", .text, default: region)
        if !poolID.hasPrefix(region + "_") {
            file.error("pool_id", "must be the region, an underscore and a name")
        }
        administrator = file.optional("administrator")?.section(SignatureVersion4.Credentials.init(reading:))
        let (host, port) = (self.host, self.port)
        (self.host, self.port) = file.section("listen") { keys in
            (keys.value("host", .text, default: host), keys.value("port", .integer(0...65535), default: port))
        }
        endpoint = file.value("endpoint", .baseURL)
        naming = NamingRule(reading: file)
        schema = AttributeSchema(reading: file)
        onlyAdministratorsCreateUsers = file.value("allow_admin_create_user_only", .boolean, default: false)
        lifetimes = file.section("lifetimes", Lifetimes.init(reading:))
        rotation = file.section("rotation", Rotation.init(reading:))
        passwords = file.section("password_policy", PasswordRule.init(reading:))
        passwordCost = UInt64(file.value("password_cost", .integer(10...18), default: Int(passwordCost)))
        mfa = file.section("mfa", MFA.init(reading:))
        passwordless = Passwordless(reading: file)
        devices = file.value("devices", .oneOf, default: devices)
        verifiesBeforeUpdate = Set(
            file.list(
                "attributes_require_verification_before_update", .word(among: ["email", "phone_number"]),
                of: "attributes") ?? [])
        preventsUserExistenceErrors = file.value("prevent_user_existence_errors", .boolean, default: true)
        hasGetTokensFromRefreshToken = file.value("get_tokens_from_refresh_token", .boolean, default: true)
        hasLockout = file.value("lockout", .boolean, default: true)
        hasHourlyLimits = file.value("hourly_limits", .boolean, default: true)
        triggers = file.section("triggers", TriggerRefusal.all)
        groups = file.list("groups", .text, of: "groups") ?? []
        users = SeededUser.all(of: file, PasswordPolicy(rule: passwords), naming, schema)
        identityProviders = IdentityProvider.all(of: file)
        apple = file.optional("apple")?.section(Apple.init(reading:))
    }
}

extension LocalPoolConfiguration.Client {
    /// Reads `client` and `more_clients`.
    fileprivate static func all(of file: SettingsMapping) -> [Self] {
        var clients = [file.required("client")?.section { Self(reading: $0, needsSecret: true) }].compactMap { $0 }
        for element in file.optional("more_clients")?.elements(expected: "clients") ?? [] {
            guard let client = element.section({ Self(reading: $0, needsSecret: false) }) else { continue }
            if clients.contains(where: { $0.id == client.id }) { element.error("another client has this id") }
            clients.append(client)
        }
        return clients
    }

    private init(reading keys: SettingsMapping, needsSecret: Bool) {
        let id = keys.required("id", .clientID) ?? ""
        let node = needsSecret ? keys.required("secret") : keys.optional("secret")
        self.init(id: id, secret: node?.readSecret())
        // Clients generated from Cognito's model refuse to send a secret in another format.
        if let text = secret?.exposeText(), !(24...64).contains(text.utf8.count) || !isOfModelsBytes(text) {
            node?.error("must be 24 to 64 letters, digits, _ or +")
        }
        flows = keys.list("flows", .word(among: flows.sorted()), of: "flows").map { Set($0) } ?? flows
        writeAttributes = keys.list("write_attributes", .writableAttribute, of: "attributes")
        readAttributes = keys.list("read_attributes", .readableAttribute, of: "attributes")
        hosted = keys.optional("hosted")?.section(LocalPoolConfiguration.Hosted.init(reading:))
    }
}

extension SignatureVersion4.Credentials {
    fileprivate init(reading keys: SettingsMapping) {
        self.init(
            accessKeyID: keys.required("access_key_id", .text) ?? "",
            secretAccessKey: keys.required("secret_access_key")?.readSecret() ?? Secret(""))
    }
}

extension LocalPoolConfiguration.Lifetimes {
    fileprivate init(reading keys: SettingsMapping) {
        accessToken = keys.seconds("access_token", default: accessToken)
        idToken = keys.seconds("id_token", default: idToken)
        refreshToken = keys.seconds("refresh_token", default: refreshToken)
        confirmationCode = keys.seconds("confirmation_code", default: confirmationCode)
        passwordResetCode = keys.seconds("password_reset_code", default: passwordResetCode)
        session = keys.seconds("session", default: session)
        temporaryPassword = keys.seconds("temporary_password", default: temporaryPassword)
    }
}

extension LocalPoolConfiguration.Rotation {
    fileprivate init(reading keys: SettingsMapping) {
        isEnabled = keys.value("enabled", .boolean, default: isEnabled)
        retryGrace = Int64(keys.value("retry_grace", .integer(0...60), default: Int(retryGrace)))
    }
}

extension LocalPoolConfiguration.PasswordRule {
    fileprivate init(reading keys: SettingsMapping) {
        minimumLength = Int64(keys.value("minimum_length", .integer(6...99), default: Int(minimumLength)))
        requiresLowercase = keys.value("require_lowercase", .boolean, default: requiresLowercase)
        requiresUppercase = keys.value("require_uppercase", .boolean, default: requiresUppercase)
        requiresNumbers = keys.value("require_numbers", .boolean, default: requiresNumbers)
        requiresSymbols = keys.value("require_symbols", .boolean, default: requiresSymbols)
    }
}

extension LocalPoolConfiguration.MFA {
    fileprivate init(reading keys: SettingsMapping) {
        mode = keys.value("mode", .oneOf, default: mode)
        let known = SecondFactors.Method.allCases.map(\.rawValue)
        methods = keys.list("methods", .word(among: known), of: "methods").map { Set($0) } ?? methods
    }
}

extension LocalPoolConfiguration.SeededUser {
    /// - Parameter policy: the policy that every password must meet.
    fileprivate static func all(
        of file: SettingsMapping, _ policy: PasswordPolicy, _ rule: LocalPoolConfiguration.NamingRule,
        _ schema: LocalPoolConfiguration.AttributeSchema
    ) -> [Self] {
        var users: [Self] = []
        for element in file.optional("users")?.elements(expected: "users") ?? [] {
            let read = element.section { keys -> Self in
                let user = Self(reading: keys, rule, schema)
                if !user.password.isEmpty, policy.violation(user.password.exposeText()) != nil {
                    keys.error("password", "breaks the pool's password policy")
                }
                let name = user.name(by: rule)?.lowercased()
                if let name, users.contains(where: { $0.name(by: rule)?.lowercased() == name }) {
                    keys.error(name == user.email.lowercased() ? "email" : "username", "is there twice")
                }
                if let sub = user.sub, users.contains(where: { $0.sub == sub }) { keys.error("sub", "is there twice") }
                return user
            }
            if let read { users.append(read) }
        }
        return users
    }

    private init(
        reading keys: SettingsMapping, _ rule: LocalPoolConfiguration.NamingRule,
        _ schema: LocalPoolConfiguration.AttributeSchema
    ) {
        let needsEmail = rule.usernameAttributes == ["email"]
        self.init(
            email: (needsEmail ? keys.required("email", .emailAddress) : keys.value("email", .emailAddress)) ?? "",
            username: rule.hasUsernames ? keys.required("username", .text) : nil,
            password: keys.required("password")?.readSecret() ?? Secret(""), sub: keys.value("sub", .text),
            groups: keys.list("groups", .text, of: "groups") ?? [],
            isConfirmed: keys.value("confirmed", .boolean, default: true))
        for (name, node) in keys.optional("attributes")?.identifiedEntries() ?? [] {
            if !UserAttribute.isWritable(name) || name == "email" {
                node.error("not an attribute that can be given here")
            }
            attributes[name] = node.read(ScalarFormat<String>.anything)
            if let value = attributes[name], let error = schema.error(name, value) { node.error(error) }
        }
        if name(by: rule) == nil, !needsEmail, !rule.hasUsernames {
            keys.errorOrMissing("email", "there must be this or the attribute phone_number")
        }
    }
}

extension SettingsMapping {
    /// A number of seconds, at most ten years.
    func seconds(_ name: String, default standard: Int64) -> Int64 {
        Int64(value(name, .integer(1...3650 * 86_400), default: Int(standard)))
    }
}

extension ScalarFormat where Value == String {
    /// Any text; other code validates it.
    fileprivate static var anything: Self { Self { $0 } }

    /// A text with one `@`, a part before it, and a dotted name after it.
    static var emailAddress: Self {
        Self { (text) throws(ScalarRefusal) in
            guard EmailAddress.isPlausible(text) else { throw ScalarRefusal("must be an e-mail address") }
            return text
        }
    }

    /// Clients generated from Cognito's model refuse to send an id in another format.
    fileprivate static var clientID: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...128).contains(text.utf8.count), isOfModelsBytes(text) else {
                throw ScalarRefusal("must be 1 to 128 letters, digits, _ or +")
            }
            return text
        }
    }

    fileprivate static var writableAttribute: Self {
        Self { (text) throws(ScalarRefusal) in
            guard UserAttribute.isWritable(text) else {
                throw ScalarRefusal("not an attribute that a client can write")
            }
            return text
        }
    }

    fileprivate static var readableAttribute: Self {
        Self { (text) throws(ScalarRefusal) in
            guard UserAttribute.isKnown(text) else { throw ScalarRefusal("not an attribute") }
            return text
        }
    }

    /// A URL; trailing slashes are removed.
    fileprivate static var baseURL: Self {
        Self { (text) throws(ScalarRefusal) in
            var text = text
            while text.hasSuffix("/") { text.removeLast() }
            guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
                throw ScalarRefusal("must be an http or https URL")
            }
            return text
        }
    }
}

/// Whether the text matches the model's `[\w+]+`, restricted to ASCII.
private func isOfModelsBytes(_ text: String) -> Bool {
    text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"), UInt8(ascii: "+"):
            true
        default: false
        }
    }
}
