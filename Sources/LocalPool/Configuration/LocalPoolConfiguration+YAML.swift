internal import Cryptography
internal import FoundationEssentials
internal import Yams

extension LocalPoolConfiguration {
    /// Reads the YAML file at `path`; `Config/local-pool.yaml` shows every key. `${NAME}` is taken from `environment`,
    /// and secrets may be `file:<path>`.
    ///
    /// - Throws: ``ConfigurationFaults`` with everything that is wrong: also unknown keys are.
    package static func load(path: String, environment: [String: String]) throws -> LocalPoolConfiguration {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw ConfigurationFaults(faults: ["\(path): can't be read"])
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
        "listen", "endpoint", "region", "pool_id", "client", "database", "lifetimes", "rotation",
        "prevent_user_existence_errors", "get_tokens_from_refresh_token", "lockout", "users",
    ]

    private static func read(_ root: ConfigurationSection) -> LocalPoolConfiguration {
        let client = root.section("client", keys: ["id", "secret"])
        if client == nil { root.reader.fault("is missing", at: "client", root.node) }
        var result = LocalPoolConfiguration(
            poolID: root.required("pool_id"), clientID: client?.required("id") ?? "",
            clientSecret: client?.requiredSecret("secret") ?? Secret(""), databasePath: root.required("database"))
        result.region = root.text("region") ?? result.region
        readAddresses(root, into: &result)
        readLifetimes(root, into: &result)
        result.preventsUserExistenceErrors = root.flag("prevent_user_existence_errors", default: true)
        result.hasGetTokensFromRefreshToken = root.flag("get_tokens_from_refresh_token", default: true)
        result.hasLockout = root.flag("lockout", default: true)
        result.users = root.list("users").compactMap { readUser($0.node, at: $0.path, root.reader) }
        check(result, root)
        return result
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
        let keys: Set<String> = ["access_token", "id_token", "refresh_token", "confirmation_code"]
        if let section = root.section("lifetimes", keys: keys) {
            let range: ClosedRange<Int64> = 1...(3650 * 86_400)
            let standard = Lifetimes()
            result.lifetimes.accessToken = section.integer("access_token", in: range, default: standard.accessToken)
            result.lifetimes.idToken = section.integer("id_token", in: range, default: standard.idToken)
            result.lifetimes.refreshToken = section.integer("refresh_token", in: range, default: standard.refreshToken)
            result.lifetimes.confirmationCode = section.integer(
                "confirmation_code", in: range, default: standard.confirmationCode)
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

    /// Rules between keys, and those of Cognito's own model.
    private static func check(_ result: LocalPoolConfiguration, _ root: ConfigurationSection) {
        if !result.poolID.isEmpty, !result.poolID.hasPrefix(result.region + "_") {
            root.reader.fault("must be the region, an underscore and a name", at: "pool_id", root.node)
        }
        checkClient(result, root)
        for (index, user) in result.users.enumerated() {
            let node = root.list("users")[index].node
            if !user.email.isEmpty, !EmailAddress.isPlausible(user.email) {
                root.reader.fault("must be an e-mail address", at: "users[\(index)].email", node)
            }
            if !user.password.isEmpty, PasswordPolicy.violation(user.password.exposeText()) != nil {
                root.reader.fault("breaks the pool's password policy", at: "users[\(index)].password", node)
            }
            if result.users[..<index].contains(where: { $0.email.lowercased() == user.email.lowercased() }) {
                root.reader.fault("is there twice", at: "users[\(index)].email", node)
            }
            if let sub = user.sub, result.users[..<index].contains(where: { $0.sub == sub }) {
                root.reader.fault("is there twice", at: "users[\(index)].sub", node)
            }
        }
    }

    /// Clients built on Cognito's model refuse to send an id or a secret of another shape.
    private static func checkClient(_ result: LocalPoolConfiguration, _ root: ConfigurationSection) {
        let secret = result.clientSecret.exposeText()
        if !secret.isEmpty, !(24...64).contains(secret.utf8.count) || !isOfModelsBytes(secret) {
            root.reader.fault(
                "must be 24 to 64 letters, digits, _ or +", at: "client.secret", root.member("client")?.node)
        }
        if result.clientID.utf8.count > 128 || !isOfModelsBytes(result.clientID) {
            root.reader.fault("must be 1 to 128 letters, digits, _ or +", at: "client.id", root.member("client")?.node)
        }
    }

    /// Whether the text matches the model's `[\w+]+`, taken as ASCII.
    private static func isOfModelsBytes(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                || scalar == "_" || scalar == "+"
        }
    }
}
