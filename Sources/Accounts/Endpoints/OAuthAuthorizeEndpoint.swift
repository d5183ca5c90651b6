internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sealing

extension AccountOperation {
    package static let oauthAuthorize = hosted("oauth-authorize", .get, "authorize")

    static func hosted(
        _ name: String, _ method: HTTPRequest.Method, _ path: String, budget: AccountBudget = .signIn
    ) -> AccountOperation {
        var operation = AccountOperation(name, method, "\(HostedSignInSettings.path)/\(path)", budget: budget)
        operation.isHosted = true
        return operation
    }
}

/// `GET oauth/authorize`: begins a sign-in on Cognito's pages, for an app with a code verifier.
struct OAuthAuthorizeEndpoint: AccountEndpoint {
    static let operation = AccountOperation.oauthAuthorize

    private let app: AppRedirect
    /// The parameters for Cognito, or the error for the app.
    private let request: Result<AuthorizationParameters, AuthorizationParameters.Failure>

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        let hosted = try accounts.requireHosted()
        let query = OAuthParameters(request.query)
        // RFC 6749, 4.1.2.1: with an invalid client or redirect URI, the browser is not redirected.
        guard let client = try? query.value("client_id"), client.hasSameBytes(as: accounts.settings.clientID) else {
            throw Refusal(.badRequest, message: "The client_id is not known here.", reason: .account(.oauthClient))
        }
        guard let redirectURI = try? query.value("redirect_uri"),
            hosted.settings.redirectURIs.contains(where: { $0.allows(redirectURI) })
        else {
            throw Refusal(
                .badRequest, message: "The redirect_uri is not one of this client's.", reason: .account(.redirectURI))
        }
        var app = AppRedirect(redirectURI: redirectURI, state: nil, issuer: hosted.settings.issuer)
        // An unreadable state is not returned.
        app.state = (try? query.value("state")) ?? nil
        self.app = app
        do throws(AuthorizationParameters.Failure) {
            self.request = .success(try AuthorizationParameters(query, hosted.settings))
        } catch {
            self.request = .failure(error)
        }
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let hosted = try accounts.requireHosted()
        let asked: AuthorizationParameters
        switch self.request {
        case .success(let parameters): asked = parameters
        case .failure(let failure):
            let refusal = Refusal(.invalidParameter, reason: .account(.oauthParameters))
            return .redirect(app, error: failure.error, refusal: refusal)
        }
        let cookie =
            BrowserCookie(of: request, hosted.settings) ?? BrowserCookie(accounts.random(32), hosted.settings)
        let signIn = SealedSignIn(
            id: accounts.random(16), clientID: accounts.settings.clientID, redirectURI: app.redirectURI,
            state: app.state, codeChallenge: asked.codeChallenge,
            verifier: Secret(Base64URL.encode(accounts.random(32))), nonce: Base64URL.encode(accounts.random(16)),
            browser: cookie.digest, expiresAt: accounts.now() + HostedSignIn.signInLifetime)
        let state = try accounts.sealing(request) { () throws(SealingFailure) in
            try signIn.sealed(with: accounts.sealingKeys, poolID: accounts.settings.poolID)
        }
        let target = hosted.domain.url(
            of: "/oauth2/authorize",
            [
                ("response_type", "code"), ("redirect_uri", hosted.settings.callback),
                ("state", state.exposeText()), ("scope", asked.scopes.joined(separator: " ")),
                ("nonce", signIn.nonce), ("code_challenge_method", "S256"),
                ("code_challenge", SHA256.codeChallenge(of: signIn.verifier.exposeText())),
            ] + asked.passed)
        return .redirect(to: target, cookie: cookie.field(lifetime: HostedSignIn.signInLifetime))
    }
}

/// The parameters of an app's authorization request other than client and redirect URI.
struct AuthorizationParameters: Sendable {
    /// The error for the app (RFC 6749, 4.1.2.1).
    struct Failure: Error {
        var error: String
    }

    let codeChallenge: String
    let scopes: [String]
    /// Parameters that Cognito gets unchanged: provider, prompt, user and language.
    let passed: [(String, String)]

    private static let prompts = ["none", "login", "select_account", "consent"]

    init(_ query: OAuthParameters, _ settings: HostedSignInSettings) throws(Failure) {
        guard try Self.read(query, "response_type").hasSameBytes(as: "code") else {
            throw Failure(error: "unsupported_response_type")
        }
        _ = try Self.read(query, "state")
        let mode = try Self.read(query, "response_mode") ?? "query"
        let requests = [try Self.read(query, "request"), try Self.read(query, "request_uri")].compactMap { $0 }
        let (method, challenge) = (
            try Self.read(query, "code_challenge_method"), try Self.read(query, "code_challenge")
        )
        // RFC 9700, 2.1.1: a code challenge is required, with S256. Its 43 characters encode a SHA-256.
        guard let challenge, method.hasSameBytes(as: "S256"), challenge.utf8.count == 43,
            Base64URL.decode(challenge.utf8)?.count == 32, mode.hasSameBytes(as: "query"), requests.isEmpty
        else { throw Failure(error: "invalid_request") }
        codeChallenge = challenge
        let asked = try Self.read(query, "scope").map(Self.words)
        let scopes = asked ?? settings.scopes
        guard scopes.contains(where: { $0.hasSameBytes(as: "openid") }),
            scopes.allSatisfy({ $0.isOne(of: settings.scopes) })
        else { throw Failure(error: "invalid_scope") }
        self.scopes = scopes
        var passed: [(String, String)] = []
        for name in ["identity_provider", "idp_identifier"] {
            guard let provider = try Self.read(query, name, atMost: 128) else { continue }
            guard settings.identityProviders.map({ provider.isOne(of: $0) }) ?? true else {
                throw Failure(error: "invalid_request")
            }
            passed.append((name, provider))
        }
        if let prompt = try Self.read(query, "prompt", atMost: 64) {
            guard Self.words(of: prompt).allSatisfy({ $0.isOne(of: Self.prompts) }) else {
                throw Failure(error: "invalid_request")
            }
            passed.append(("prompt", prompt))
        }
        for name in ["login_hint", "lang"] {
            if let value = try Self.read(query, name, atMost: 256) { passed.append((name, value)) }
        }
        self.passed = passed
    }

    private static func words(of text: String) -> [String] {
        text.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
    }

    private static func read(
        _ query: OAuthParameters, _ name: String, atMost limit: Int = 1024
    ) throws(Failure) -> String? {
        do {
            return try query.value(name, atMost: limit)
        } catch {
            throw Failure(error: "invalid_request")
        }
    }
}
