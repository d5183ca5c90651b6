internal import Cryptography
internal import FoundationEssentials
internal import Glibc
internal import Yams

extension LocalPoolConfiguration {
    /// Reads the YAML file at `path`; `Config/local-pool.yaml` shows every key. `${NAME}` is taken from `environment`,
    /// and secrets may be `file:<path>`.
    ///
    /// - Throws: ``ConfigurationFaults`` with everything that is wrong: also unknown keys are.
    package static func load(path: String, environment: [String: String]) throws -> LocalPoolConfiguration {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(filePath: path))
        } catch {
            let failure = (error as? CocoaError)?.underlying as? POSIXError
            let reason = failure.map { unsafe String(cString: strerror($0.code.rawValue)) }
            throw ConfigurationFaults(faults: ["\(path): can't be read: \(reason ?? "the system gives no reason")"])
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ConfigurationFaults(faults: ["\(path): is not valid UTF-8"])
        }
        return try parse(text, file: path, environment: environment)
    }

    /// As ``load(path:environment:)`` for a text; `file` is only named in faults.
    package static func parse(
        _ text: String, file: String, environment: [String: String]
    ) throws -> LocalPoolConfiguration {
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch {
            throw ConfigurationFaults(faults: ["\(file): not valid YAML: \(error)"])
        }
        let reader = ConfigurationReader(file: file, environment: environment)
        let configuration = reader.section(root, at: "", keys: topLevelKeys).map(read)
        if configuration == nil { reader.fault("the file is empty", at: "") }
        guard let configuration, reader.faults.isEmpty else { throw ConfigurationFaults(faults: reader.faults) }
        return configuration
    }

    private static let topLevelKeys: Set<String> = [
        "listen", "endpoint", "region", "pool_id", "client", "more_clients", "administrator", "database", "lifetimes",
        "rotation", "password_policy", "mfa", "devices", "prevent_user_existence_errors",
        "get_tokens_from_refresh_token", "lockout", "hourly_limits", "users", "apple",
    ]

    private static func read(_ root: ConfigurationSection) -> LocalPoolConfiguration {
        let client = root.section("client", keys: clientKeys)
        if client == nil { root.reader.fault("is missing", at: "client", root.node) }
        var result = LocalPoolConfiguration(
            poolID: root.required("pool_id"), clientID: client?.required("id") ?? "",
            clientSecret: client?.requiredSecret("secret") ?? Secret(""), databasePath: root.required("database"))
        if let client {
            result.clients[0].flows = readFlows(client)
            result.clients[0].writeAttributes = readWriteAttributes(client)
        }
        result.clients += root.list("more_clients").compactMap { readClient($0.node, at: $0.path, root.reader) }
        if let section = root.section("administrator", keys: ["access_key_id", "secret_access_key"]) {
            result.administrator = SignatureVersion4.Credentials(
                accessKeyID: section.required("access_key_id"),
                secretAccessKey: section.requiredSecret("secret_access_key"))
        }
        result.region = root.text("region") ?? result.region
        readAddresses(root, into: &result)
        readLifetimes(root, into: &result)
        readRules(root, into: &result)
        result.preventsUserExistenceErrors = root.flag("prevent_user_existence_errors", default: true)
        result.hasGetTokensFromRefreshToken = root.flag("get_tokens_from_refresh_token", default: true)
        result.hasLockout = root.flag("lockout", default: true)
        result.hasHourlyLimits = root.flag("hourly_limits", default: true)
        result.users = root.list("users").compactMap { readUser($0.node, at: $0.path, root.reader) }
        result.apple = readApple(root)
        check(result, root)
        return result
    }

    private static func readClient(_ node: Node, at path: String, _ reader: ConfigurationReader) -> Client? {
        guard let section = reader.section(node, at: path, keys: clientKeys) else { return nil }
        var client = Client(
            id: section.required("id"),
            secret: section.member("secret") == nil ? nil : section.requiredSecret("secret"))
        client.flows = readFlows(section)
        client.writeAttributes = readWriteAttributes(section)
        return client
    }

    private static let clientKeys: Set<String> = ["id", "secret", "flows", "write_attributes"]

    private static func readWriteAttributes(_ section: ConfigurationSection) -> [String]? {
        guard section.member("write_attributes") != nil else { return nil }
        return section.list("write_attributes").compactMap { node, path in
            let name = section.reader.text(node, at: path)
            if let name, !UserAttribute.isKnown(name) || UserAttribute.isManaged(name) {
                section.reader.fault("not an attribute that a client can write", at: path, node)
            }
            return name
        }
    }

    private static func readFlows(_ section: ConfigurationSection) -> Set<String> {
        guard section.member("flows") != nil else { return Client.allFlows }
        return section.names("flows", of: Client.allFlows.sorted())
    }

    private static func readRules(_ root: ConfigurationSection, into result: inout LocalPoolConfiguration) {
        let keys: Set<String> = [
            "minimum_length", "require_lowercase", "require_uppercase", "require_numbers", "require_symbols",
        ]
        if let section = root.section("password_policy", keys: keys) {
            result.passwords.minimumLength = section.integer("minimum_length", in: 6...99, default: 8)
            result.passwords.requiresLowercase = section.flag("require_lowercase", default: false)
            result.passwords.requiresUppercase = section.flag("require_uppercase", default: false)
            result.passwords.requiresNumbers = section.flag("require_numbers", default: false)
            result.passwords.requiresSymbols = section.flag("require_symbols", default: false)
        }
        if let section = root.section("mfa", keys: ["mode", "methods"]) {
            result.mfa.mode = section.choice("mode", default: .optional)
            if section.member("methods") != nil {
                result.mfa.methods = section.names("methods", of: SecondFactors.Method.allCases.map(\.rawValue))
            }
        }
        result.devices = root.choice("devices", default: .off)
    }

    private static func readAddresses(_ root: ConfigurationSection, into result: inout LocalPoolConfiguration) {
        if let listen = root.section("listen", keys: ["host", "port"]) {
            result.host = listen.text("host") ?? result.host
            result.port = Int(listen.integer("port", in: 0...65535, default: Int64(result.port)))
        }
        guard var endpoint = root.text("endpoint") else { return }
        while endpoint.hasSuffix("/") { endpoint.removeLast() }
        if !endpoint.hasPrefix("http://"), !endpoint.hasPrefix("https://") {
            root.reader.fault("must be an http or https URL", at: "endpoint", root.member("endpoint")?.node)
        }
        result.endpoint = endpoint
    }

    private static func readLifetimes(_ root: ConfigurationSection, into result: inout LocalPoolConfiguration) {
        let keys: Set<String> = [
            "access_token", "id_token", "refresh_token", "confirmation_code", "password_reset_code", "session",
            "temporary_password",
        ]
        if let section = root.section("lifetimes", keys: keys) {
            let range: ClosedRange<Int64> = 1...(3650 * 86_400)
            let standard = Lifetimes()
            result.lifetimes.accessToken = section.integer("access_token", in: range, default: standard.accessToken)
            result.lifetimes.idToken = section.integer("id_token", in: range, default: standard.idToken)
            result.lifetimes.refreshToken = section.integer("refresh_token", in: range, default: standard.refreshToken)
            result.lifetimes.confirmationCode = section.integer(
                "confirmation_code", in: range, default: standard.confirmationCode)
            result.lifetimes.passwordResetCode = section.integer(
                "password_reset_code", in: range, default: standard.passwordResetCode)
            result.lifetimes.session = section.integer("session", in: range, default: standard.session)
            result.lifetimes.temporaryPassword = section.integer(
                "temporary_password", in: range, default: standard.temporaryPassword)
        }
        if let section = root.section("rotation", keys: ["enabled", "retry_grace"]) {
            result.rotation.isEnabled = section.flag("enabled", default: false)
            result.rotation.retryGrace = section.integer("retry_grace", in: 0...60, default: 0)
        }
    }

    private static func readUser(_ node: Node, at path: String, _ reader: ConfigurationReader) -> SeededUser? {
        let keys: Set<String> = ["email", "password", "sub", "groups", "attributes", "confirmed"]
        guard let section = reader.section(node, at: path, keys: keys) else { return nil }
        let groups = section.list("groups").compactMap { reader.text($0.node, at: $0.path) }
        var attributes: [String: String] = [:]
        for (key, value) in section.member("attributes")?.node.mapping ?? [:] {
            let name = key.string ?? ""
            if !UserAttribute.isKnown(name) || UserAttribute.isManaged(name) || name == "email" {
                reader.fault("not an attribute that can be given here", at: "\(path).attributes.\(name)", key)
            }
            attributes[name] = reader.text(value, at: "\(path).attributes.\(name)")
        }
        return SeededUser(
            email: section.required("email"), password: section.requiredSecret("password"), sub: section.text("sub"),
            groups: groups, attributes: attributes, isConfirmed: section.flag("confirmed", default: true))
    }
}
