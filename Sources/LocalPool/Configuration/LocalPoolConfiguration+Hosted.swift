internal import SettingsReader

extension LocalPoolConfiguration {
    /// An app client's settings for the hosted pages, as in CreateUserPoolClient.
    package struct Hosted: Sendable {
        /// CallbackURLs.
        package var callbackURLs: [String] = []
        /// LogoutURLs.
        package var logoutURLs: [String] = []
        /// AllowedOAuthScopes.
        package var scopes: [String] = Self.allScopes
        /// SupportedIdentityProviders; nil: all of the pool's, and the pool's own users.
        package var identityProviders: [String]?

        package init() {}

        static let allScopes = ["openid", "email", "phone", "profile", TokenClaims.ownScope]
    }

    /// An identity provider of the pool, which this process simulates.
    package struct IdentityProvider: Sendable, Equatable {
        package var name: String
        /// The type in `identities`.
        package var type: String

        package init(name: String, type: String) {
            self.name = name
            self.type = type
        }
    }
}

extension LocalPoolConfiguration.Hosted {
    init(reading keys: SettingsMapping) {
        if keys.required("callback_urls") != nil {
            callbackURLs = keys.list("callback_urls", .absoluteURI, of: "URLs") ?? []
        }
        logoutURLs = keys.list("logout_urls", .absoluteURI, of: "URLs") ?? []
        scopes = keys.list("scopes", .word(among: Self.allScopes), of: "scopes") ?? Self.allScopes
        identityProviders = keys.list("identity_providers", .identifier, of: "identity providers")
    }
}

extension LocalPoolConfiguration.IdentityProvider {
    static func all(of file: SettingsMapping) -> [Self] {
        var providers: [Self] = []
        for element in file.optional("identity_providers")?.elements(expected: "identity providers") ?? [] {
            let read = element.section { keys -> Self in
                let name = keys.required("name", .providerName) ?? ""
                if providers.contains(where: { $0.name == name }) { keys.error("name", "is there twice") }
                let types = ["SAML", "Facebook", "Google", "LoginWithAmazon", "SignInWithApple", "OIDC"]
                return Self(name: name, type: keys.value("type", .word(among: types), default: "OIDC"))
            }
            if let read { providers.append(read) }
        }
        return providers
    }
}

extension ScalarFormat where Value == String {
    /// A URI with a scheme and without a fragment (RFC 6749, 3.1.2).
    fileprivate static var absoluteURI: Self {
        Self { (text) throws(ScalarRefusal) in
            let scheme = text.prefix { $0 != ":" }
            guard scheme.count < text.count, let first = scheme.first, first.isASCII, first.isLetter,
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), !text.contains("#")
            else { throw ScalarRefusal("must be an absolute URL without a fragment") }
            return text
        }
    }

    /// Cognito's ProviderName, limited to what can precede the underscore of a user name.
    fileprivate static var providerName: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...32).contains(text.utf8.count), text != "COGNITO",
                text.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") })
            else { throw ScalarRefusal("must be 1 to 32 letters, digits or \"-\", and not COGNITO") }
            return text
        }
    }
}
