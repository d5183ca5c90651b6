internal import Cryptography
internal import Yams

extension LocalPoolConfiguration {
    /// The section `apple`; nil if there is none.
    static func readApple(_ root: ConfigurationSection) -> Apple? {
        let keys: Set<String> = [
            "issuer", "team_id", "client_ids", "keys", "notification_url", "booleans_as_text", "lifetimes", "accounts",
        ]
        guard let section = root.section("apple", keys: keys) else { return nil }
        let clientIDs = section.list("client_ids").compactMap { section.reader.text($0.node, at: $0.path) }
        if clientIDs.isEmpty { section.reader.fault("is missing or empty", at: "apple.client_ids", section.node) }
        var apple = Apple(teamID: section.required("team_id"), clientIDs: clientIDs)
        apple.issuer = section.text("issuer") ?? apple.issuer
        apple.keys = section.list("keys").compactMap { readKey($0.node, at: $0.path, section.reader) }
        apple.notificationURL = readNotificationURL(section)
        apple.writesBooleansAsText = section.flag("booleans_as_text", default: false)
        readLifetimes(section, into: &apple.lifetimes)
        for (node, path) in section.list("accounts") {
            guard let account = readAccount(node, at: path, section.reader) else { continue }
            if apple.accounts.contains(where: { $0.email.lowercased() == account.email.lowercased() }) {
                section.reader.fault("is there twice", at: "\(path).email", node)
            }
            apple.accounts.append(account)
        }
        return apple
    }

    private static func readKey(_ node: Node, at path: String, _ reader: ConfigurationReader) -> Apple.RegisteredKey? {
        guard let section = reader.section(node, at: path, keys: ["id", "key"]) else { return nil }
        let id = section.required("id")
        let pem = section.requiredSecret("key")
        guard !pem.isEmpty else { return nil }
        guard let key = Apple.RegisteredKey(id: id, pem: pem) else {
            reader.fault("must be a P-256 key in PEM, public or private", at: "\(path).key", node)
            return nil
        }
        return key
    }

    private static func readNotificationURL(_ section: ConfigurationSection) -> PlainURL? {
        guard let text = section.text("notification_url") else { return nil }
        let url = PlainURL(text)
        if url == nil {
            section.reader.fault(
                "must be an http URL", at: "apple.notification_url", section.member("notification_url")?.node)
        }
        return url
    }

    private static func readLifetimes(_ apple: ConfigurationSection, into lifetimes: inout Apple.Lifetimes) {
        guard let section = apple.section("lifetimes", keys: ["identity_token", "code", "access_token"]) else { return }
        let range: ClosedRange<Int64> = 1...(3650 * 86_400)
        lifetimes.identityToken = section.integer("identity_token", in: range, default: lifetimes.identityToken)
        lifetimes.code = section.integer("code", in: range, default: lifetimes.code)
        lifetimes.accessToken = section.integer("access_token", in: range, default: lifetimes.accessToken)
    }

    private static func readAccount(_ node: Node, at path: String, _ reader: ConfigurationReader) -> Apple.Account? {
        let keys: Set<String> = [
            "email", "email_verified", "sub", "given_name", "family_name", "hide_email", "real_user_status",
        ]
        guard let section = reader.section(node, at: path, keys: keys) else { return nil }
        var account = Apple.Account(email: section.required("email"))
        if !account.email.isEmpty, !EmailAddress.isPlausible(account.email) {
            reader.fault("must be an e-mail address", at: "\(path).email", node)
        }
        account.isEmailVerified = section.flag("email_verified", default: true)
        account.sub = section.text("sub")
        account.givenName = section.text("given_name")
        account.familyName = section.text("family_name")
        account.hidesEmail = section.flag("hide_email", default: false)
        account.realUserStatus = section.integer("real_user_status", in: 0...2, default: 2)
        return account
    }
}
