internal import Cryptography

extension LocalPoolConfiguration {
    /// Rules between keys, and those of Cognito's own model.
    static func check(_ result: LocalPoolConfiguration, _ root: ConfigurationSection) {
        if !result.poolID.isEmpty, !result.poolID.hasPrefix(result.region + "_") {
            root.reader.fault("must be the region, an underscore and a name", at: "pool_id", root.node)
        }
        for index in result.clients.indices {
            checkClient(result.clients[index], at: index == 0 ? "client" : "more_clients[\(index - 1)]", root)
        }
        if Set(result.clients.map(\.id)).count < result.clients.count {
            root.reader.fault("an id is there twice", at: "more_clients", root.member("more_clients")?.node)
        }
        let policy = PasswordPolicy(rule: result.passwords)
        for (index, user) in result.users.enumerated() {
            let node = root.list("users")[index].node
            if !user.email.isEmpty, !EmailAddress.isPlausible(user.email) {
                root.reader.fault("must be an e-mail address", at: "users[\(index)].email", node)
            }
            if !user.password.isEmpty, policy.violation(user.password.exposeText()) != nil {
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
    private static func checkClient(_ client: Client, at path: String, _ root: ConfigurationSection) {
        let node = root.member("client")?.node
        let secret = client.secret?.exposeText() ?? ""
        if !secret.isEmpty, !(24...64).contains(secret.utf8.count) || !isOfModelsBytes(secret) {
            root.reader.fault("must be 24 to 64 letters, digits, _ or +", at: "\(path).secret", node)
        }
        if client.id.utf8.count > 128 || !isOfModelsBytes(client.id) {
            root.reader.fault("must be 1 to 128 letters, digits, _ or +", at: "\(path).id", node)
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
