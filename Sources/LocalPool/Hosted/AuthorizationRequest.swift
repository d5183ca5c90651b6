internal import Cryptography
internal import Encoding

/// A request for an authorization code, validated like Cognito does.
struct AuthorizationRequest: Sendable {
    let client: ClientAuthentication
    let settings: LocalPoolConfiguration.Hosted
    /// The query, which the pages pass along.
    let query: String
    let redirectURI: String
    let state: String?
    let scopes: [String]
    let nonce: String?
    let codeChallenge: String?
    let identityProvider: String?
    let loginHint: String?
    let prompts: [String]

    /// The reason why a request gets no sign-in page.
    enum Failure: Error {
        /// There is no valid redirect URI: a page shows the error.
        case page(String)
        /// The error is reported to the application by a redirect.
        case redirect(String)
    }

    init(_ query: Substring, _ pool: UserPool) throws(Failure) {
        let parameters = HostedParameters(query)
        guard let (client, settings) = pool.hostedClient(parameters["client_id"]) else { throw .page("invalid_client") }
        guard let redirectURI = parameters["redirect_uri"], settings.callbackURLs.contains(redirectURI) else {
            throw .page("redirect_mismatch")
        }
        let state = parameters["state"]
        let failure = { (error: String) -> Failure in
            .redirect(Self.redirect(redirectURI, [("error", error)], state: state))
        }
        let names = ["response_type", "state", "scope", "nonce", "code_challenge", "code_challenge_method"]
        guard !names.contains(where: parameters.isRepeated) else { throw failure("invalid_request") }
        guard let type = parameters["response_type"] else { throw failure("invalid_request") }
        guard type == "code" else { throw failure("unauthorized_client") }
        let scopes = parameters["scope"]?.split(separator: " ").map(String.init) ?? settings.scopes
        // `email`, `phone` and `profile` require `openid`.
        guard scopes.allSatisfy(settings.scopes.contains),
            scopes.contains("openid") || scopes.allSatisfy({ $0 == TokenClaims.ownScope })
        else { throw failure("invalid_scope") }
        let challenge = parameters["code_challenge"]
        guard (challenge == nil) == (parameters["code_challenge_method"] == nil),
            challenge == nil || parameters["code_challenge_method"] == "S256"
        else { throw failure("invalid_request") }
        (self.client, self.settings, self.query) = (client, settings, String(query))
        (self.redirectURI, self.state, self.scopes) = (redirectURI, state, scopes)
        (nonce, codeChallenge) = (parameters["nonce"], challenge)
        loginHint = parameters["login_hint"]
        prompts = parameters["prompt"]?.split(separator: " ").map(String.init) ?? []
        identityProvider = parameters["identity_provider"] ?? parameters["idp_identifier"]
        if let identityProvider, identityProvider != "COGNITO",
            !Self.providers(of: pool, settings).contains(where: { $0.name == identityProvider })
        {
            throw failure("invalid_request")
        }
    }

    /// The identity providers that the client's users may use.
    static func providers(
        of pool: UserPool, _ settings: LocalPoolConfiguration.Hosted
    ) -> [LocalPoolConfiguration.IdentityProvider] {
        pool.configuration.identityProviders.filter { settings.identityProviders?.contains($0.name) ?? true }
    }

    /// Whether the pool's own users may sign in.
    var allowsOwnUsers: Bool { settings.identityProviders?.contains("COGNITO") ?? true }

    func redirect(_ fields: [(String, String)]) -> String { Self.redirect(redirectURI, fields, state: state) }

    private static func redirect(_ uri: String, _ fields: [(String, String)], state: String?) -> String {
        let all = fields + (state.map { [("state", $0)] } ?? [])
        return uri + (uri.contains("?") ? "&" : "?") + String(decoding: FormEncoding.encode(all), as: UTF8.self)
    }
}
