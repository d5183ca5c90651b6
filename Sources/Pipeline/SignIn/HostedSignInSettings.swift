internal import Encoding

/// Sign-in on the pages of a pool's hosted domain, and at its identity providers.
package struct HostedSignInSettings: Sendable {
    /// The URL of the hosted domain, without a trailing slash.
    package var domain: String
    /// The URL of the gateway's authorization server: the `iss` of its responses (RFC 9207). The endpoints are below
    /// it.
    package var issuer: String
    package var redirectURIs: [RedirectURI]
    package var logoutURIs: [String]
    /// The identity providers that apps may name; nil for all that the app client allows.
    package var identityProviders: [String]?
    /// The scopes that apps may request, and that they get if they request none.
    package var scopes: [String]

    package init(
        domain: String, issuer: String, redirectURIs: [RedirectURI], logoutURIs: [String] = [],
        identityProviders: [String]? = nil, scopes: [String] = Self.defaultScopes
    ) {
        self.domain = domain
        self.issuer = issuer
        self.redirectURIs = redirectURIs
        self.logoutURIs = logoutURIs
        self.identityProviders = identityProviders
        self.scopes = scopes
    }

    /// The last one lets an access token act on the user's own account, like one from a sign-in by password.
    package static let defaultScopes = ["openid", "email", "profile", "aws.cognito.signin.user.admin"]

    /// The path of the endpoints below the prefix.
    package static let path = "oauth"

    /// The gateway's own redirect URI at Cognito.
    package var callback: String { "\(issuer)/callback" }

    /// Whether the browser may send its cookie over an unencrypted connection: for development only.
    package var isPlain: Bool { !issuer.begins(with: "https://") }
}

/// A redirect URI of an app.
package struct RedirectURI: Sendable {
    package var text: String
    /// The parts before and after the port of a loopback address that is listed without a port.
    private let loopback: Loopback?

    private struct Loopback {
        var origin: String
        var path: String
    }

    package init(_ text: String) {
        self.text = text
        loopback =
            Self.loopbackOrigins.lazy.compactMap { origin in
                guard text.begins(with: origin) else { return nil }
                let rest = String(Substring(text.utf8.dropFirst(origin.utf8.count)))
                return rest.isEmpty || rest.begins(with: "/") ? Loopback(origin: origin, path: rest) : nil
            }.first
    }

    /// RFC 8252, 8.3: not `localhost`, which can resolve to something else.
    package static let loopbackOrigins = ["http://127.0.0.1", "http://[::1]"]

    /// Whether a request may name this URI: byte for byte as it is listed (RFC 9700, 4.1.3). A loopback address that is
    /// listed without a port matches with any port (RFC 8252, 7.3).
    package func allows(_ uri: String) -> Bool {
        if uri.hasSameBytes(as: text) { return true }
        guard let loopback, uri.begins(with: "\(loopback.origin):"), uri.ends(with: loopback.path) else { return false }
        let port = uri.utf8.dropFirst(loopback.origin.utf8.count + 1).dropLast(loopback.path.utf8.count)
        return (1...5).contains(port.count) && port.allSatisfy { (0x30...0x39).contains($0) }
            && Int(String(Substring(port))).map { (1...65_535).contains($0) } == true
    }
}
