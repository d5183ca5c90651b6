internal import Cryptography
internal import SettingsReader

extension LocalPoolConfiguration.Apple {
    /// Reads the section `apple`.
    init(reading keys: SettingsMapping) {
        if keys.required("client_ids") != nil, keys.isEmptyList("client_ids") {
            keys.error("client_ids", "must name at least one")
        }
        self.init(
            teamID: keys.required("team_id", .text) ?? "",
            clientIDs: keys.list("client_ids", .text, of: "bundle ids and Services IDs") ?? [])
        issuer = keys.value("issuer", .text, default: issuer)
        self.keys =
            keys.optional("keys")?.elements(expected: "keys")?.compactMap { element in
                element.section(RegisteredKey.init(reading:)) ?? nil
            } ?? []
        notificationURL = keys.value("notification_url", .plainURL)
        writesBooleansAsText = keys.value("booleans_as_text", .boolean, default: false)
        lifetimes = keys.section("lifetimes", Lifetimes.init(reading:))
        for element in keys.optional("accounts")?.elements(expected: "accounts") ?? [] {
            let account = element.section { keys -> Account in
                let account = Account(reading: keys)
                let isKnown = accounts.contains { $0.email.lowercased() == account.email.lowercased() }
                if !account.email.isEmpty, isKnown {
                    keys.error("email", "is there twice")
                }
                return account
            }
            if let account { accounts.append(account) }
        }
    }
}

extension LocalPoolConfiguration.Apple.RegisteredKey {
    fileprivate init?(reading keys: SettingsMapping) {
        let id = keys.required("id", .text)
        guard let node = keys.required("key"), let pem = node.readSecret(), let id else { return nil }
        guard let key = Self(id: id, pem: pem) else {
            node.error("must be a P-256 key in PEM, public or private")
            return nil
        }
        self = key
    }
}

extension LocalPoolConfiguration.Apple.Lifetimes {
    fileprivate init(reading keys: SettingsMapping) {
        identityToken = keys.seconds("identity_token", default: identityToken)
        code = keys.seconds("code", default: code)
        accessToken = keys.seconds("access_token", default: accessToken)
    }
}

extension LocalPoolConfiguration.Apple.Account {
    fileprivate init(reading keys: SettingsMapping) {
        self.init(email: keys.required("email", .emailAddress) ?? "")
        isEmailVerified = keys.value("email_verified", .boolean, default: true)
        sub = keys.value("sub", .text)
        givenName = keys.value("given_name", .text)
        familyName = keys.value("family_name", .text)
        hidesEmail = keys.value("hide_email", .boolean, default: false)
        realUserStatus = Int64(keys.value("real_user_status", .integer(0...2), default: 2))
    }
}

extension ScalarFormat where Value == PlainURL {
    fileprivate static var plainURL: Self {
        Self { (text) throws(ScalarRefusal) in
            guard let url = PlainURL(text) else { throw ScalarRefusal("must be an http URL") }
            return url
        }
    }
}
