internal import Pipeline
internal import SettingsReader

extension HostedSignInSettings {
    /// - Parameters:
    ///   - prefix: the path prefix of the pool's account endpoints.
    ///   - allowsPlain: whether the URLs may be `http`, for a pool on this machine.
    init?(reading keys: SettingsMapping, prefix: String, allowsPlain: Bool) {
        let domain = keys.serviceOrigin("domain", allowsPlain: allowsPlain)
        let publicURL = keys.serviceOrigin("public_url", allowsPlain: allowsPlain)
        let redirectURIs =
            keys.required("redirect_uris") == nil ? nil : keys.list("redirect_uris", .redirectURI, of: "URIs")
        if keys.isEmptyList("redirect_uris") { keys.error("redirect_uris", "must name at least one") }
        let logoutURIs = keys.list("logout_uris", .redirectURI, of: "URIs") ?? []
        let providers = keys.list("identity_providers", .identityProvider, of: "identity providers")
        if keys.isEmptyList("identity_providers") {
            keys.error("identity_providers", "must name at least one; without this key apps may name any")
        }
        let scopes = keys.list("scopes", .scope, of: "scopes") ?? Self.defaultScopes
        // The gateway verifies the nonce of the ID token, and identifies the user by it.
        if !scopes.contains("openid") { keys.error("scopes", "must hold openid") }
        guard let domain, let publicURL, let redirectURIs else { return nil }
        self.init(
            domain: domain, issuer: "\(publicURL)\(prefix)/\(Self.path)",
            redirectURIs: redirectURIs.map { RedirectURI($0) }, logoutURIs: logoutURIs, identityProviders: providers,
            scopes: scopes)
    }
}

extension SettingsMapping {
    /// A URL with scheme, host and port only.
    fileprivate func serviceOrigin(_ name: String, allowsPlain: Bool) -> String? {
        guard let node = required(name), let url = node.read(.url) else { return nil }
        guard url.path.isEmpty else {
            node.error("must have no path: the paths are Cognito's, or the prefix and /\(HostedSignInSettings.path)")
            return nil
        }
        if url.isPlain, !allowsPlain {
            node.error("codes and cookies are sent over https only, unless allow_insecure_http is true")
        }
        return url.description
    }
}

extension ScalarFormat where Value == String {
    /// An `https` URL, a URI of an app's own scheme, or a loopback address (RFC 8252, 7).
    fileprivate static var redirectURI: Self {
        Self { (text) throws(ScalarRefusal) in
            let example = "must be a URI like com.example.app:/oauth, https://app.example.com/oauth or"
            guard (1...512).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
                !text.contains(where: { "\"<>\\^`{|}".contains($0) })
            else { throw ScalarRefusal("\(example) http://127.0.0.1/oauth, without spaces") }
            guard !text.contains("#") else { throw ScalarRefusal("must have no fragment") }
            let scheme = String(text.prefix { $0 != ":" })
            guard scheme.count < text.count else { throw ScalarRefusal("\(example) http://127.0.0.1/oauth") }
            switch scheme {
            case "https": try requireHost(text.dropFirst("https://".count), hasSlashes: text.hasPrefix("https://"))
            case "http":
                guard RedirectURI.loopbackOrigins.contains(where: { text.isLoopback($0) }) else {
                    throw ScalarRefusal("http is for http://127.0.0.1 and http://[::1] only: use https")
                }
            default:
                guard isOwnScheme(scheme) else {
                    throw ScalarRefusal(
                        "an app's own scheme must be in lower case, and hold a dot as in com.example.app:/oauth")
                }
            }
            return text
        }
    }

    private static func requireHost(_ rest: Substring, hasSlashes: Bool) throws(ScalarRefusal) {
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard hasSlashes, let (host, _) = HostAndPort.split(authority), !host.isEmpty else {
            throw ScalarRefusal("must name a host, as https://app.example.com/oauth does, and no user")
        }
    }

    /// Whether a scheme is a reversed domain name (RFC 8252, 7.1), which excludes schemes of pages and of other
    /// programs.
    private static func isOwnScheme(_ scheme: String) -> Bool {
        guard let first = scheme.utf8.first, (0x61...0x7A).contains(first), scheme.contains(".") else { return false }
        return scheme.utf8.allSatisfy { byte in
            switch byte {
            case 0x61...0x7A, 0x30...0x39, UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"): true
            default: false
            }
        }
    }

    /// A name by the rule of Cognito's `ProviderName`.
    fileprivate static var identityProvider: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...32).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ScalarRefusal("must be a provider's name of 1 to 32 visible ASCII characters")
            }
            return text
        }
    }

    /// An OAuth scope (RFC 6749, 3.3).
    fileprivate static var scope: Self {
        Self { (text) throws(ScalarRefusal) in
            guard (1...256).contains(text.utf8.count),
                text.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
            else { throw ScalarRefusal("must be a scope without spaces and quotation marks") }
            return text
        }
    }
}

extension String {
    /// Whether the URI has this origin, with an optional port and a path.
    fileprivate func isLoopback(_ origin: String) -> Bool {
        guard hasPrefix(origin) else { return false }
        let rest = dropFirst(origin.count)
        guard rest.hasPrefix(":") else { return rest.isEmpty || rest.hasPrefix("/") }
        let port = rest.dropFirst().prefix { $0 != "/" }
        return Int(port).map { (1...65_535).contains($0) } == true && port.allSatisfy(\.isNumber)
    }
}
