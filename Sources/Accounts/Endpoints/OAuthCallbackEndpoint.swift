internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

extension AccountOperation {
    package static let oauthCallback = hosted("oauth-callback", .get, "callback")
}

/// `GET oauth/callback`: the browser returns from Cognito and is redirected to the app with a code of the gateway.
struct OAuthCallbackEndpoint: AccountEndpoint {
    static let operation = AccountOperation.oauthCallback

    private let signIn: SealedSignIn
    private let app: AppRedirect
    private let code: Secret?
    /// Cognito's error.
    private let error: String?

    init(_ request: AccountRequest, _ accounts: CognitoAccounts, _ call: inout AccountCall) throws(Refusal) {
        let hosted = try accounts.requireHosted()
        let query = OAuthParameters(request.query)
        guard let state = try? query.value("state", atMost: SealedText.maximumLength),
            let signIn = try? SealedSignIn(
                opening: Secret(state), with: accounts.sealingKeys, poolID: accounts.settings.poolID),
            let cookie = BrowserCookie(of: request, hosted.settings),
            constantTimeEquals(cookie.digest, signIn.browser), signIn.expiresAt > accounts.now(),
            signIn.clientID.hasSameBytes(as: accounts.settings.clientID),
            // The settings may have changed in the meantime.
            hosted.settings.redirectURIs.contains(where: { $0.allows(signIn.redirectURI) })
        else { throw Self.ended }
        self.signIn = signIn
        app = AppRedirect(redirectURI: signIn.redirectURI, state: signIn.state, issuer: hosted.settings.issuer)
        code = ((try? query.value("code")) ?? nil).map { Secret($0) }
        error = (try? query.value("error")) ?? nil
    }

    /// One refusal for every error in state or cookie.
    private static var ended: Refusal {
        Refusal(
            .badRequest, message: "This sign-in has ended. Begin again in the app.",
            reason: .account(.hostedSignInEnded))
    }

    func perform(
        _ accounts: CognitoAccounts, _ request: AccountRequest, _ admission: inout Admission
    ) async throws(Refusal) -> AccountAnswer {
        let hosted = try accounts.requireHosted()
        if let error { return refused(error, .hostedSignInRefused) }
        guard let code else { return refused("server_error", .hostedSignInRefused) }
        let result: AuthenticationResult
        do {
            result = try await hosted.domain.tokens(
                for: code, verifier: signIn.verifier, redirectURI: hosted.settings.callback)
        } catch {
            let refusal = accounts.refusal(of: error, at: .challenge, request)
            return .redirect(app, error: Self.error(for: error.kind), refusal: refusal)
        }
        guard accounts.isOf(signIn.nonce, result), let access = result.accessClaims,
            let user = AccountUser(accessClaims: access, idClaims: result.idClaims)
        else {
            accounts.logger.error(
                "the hosted domain's tokens are not of this sign-in",
                metadata: ["request_id": "\(request.requestID)", "pool_id": "\(accounts.settings.poolID)"])
            await accounts.giveUp(result, request)
            return refused("server_error", .hostedTokens)
        }
        let own = try await accounts.authorizationCode(for: result, signIn, hosted, request)
        guard let own else { throw Self.ended }
        var answer = AccountAnswer.redirect(to: app.target([("code", own.exposeText())]))
        answer.subject = user.id
        return answer
    }

    private func refused(_ error: String, _ reason: AccountError) -> AccountAnswer {
        let known = error.isOne(of: Self.knownErrors) ? error : "server_error"
        return .redirect(app, error: known, refusal: Refusal(.accessDenied, reason: .account(reason)))
    }

    /// The errors that the app gets unchanged: RFC 6749, 4.1.2.1, and OpenID Connect Core, 3.1.2.6.
    private static let knownErrors = [
        "access_denied", "invalid_request", "invalid_scope", "unauthorized_client", "server_error",
        "temporarily_unavailable", "login_required", "consent_required", "interaction_required",
        "account_selection_required",
    ]

    private static func error(for kind: CognitoErrorKind) -> String {
        switch kind {
        case .unavailable, .throttled: "temporarily_unavailable"
        case .codeMismatch: "access_denied"
        default: "server_error"
        }
    }
}

extension CognitoAccounts {
    /// Creates an authorization code of the gateway for a sign-in's result.
    ///
    /// - Returns: nil for a sign-in that has issued a code before; its new tokens are revoked then.
    fileprivate func authorizationCode(
        for result: AuthenticationResult, _ signIn: SealedSignIn, _ hosted: HostedSignIn, _ request: AccountRequest
    ) async throws(Refusal) -> Secret? {
        let code = Base64URL.encode(random(32))
        let now = now()
        let stored = SealedCodeResult(
            clientID: signIn.clientID, redirectURI: signIn.redirectURI, codeChallenge: signIn.codeChallenge,
            accessToken: result.accessToken, idToken: result.idToken, refreshToken: result.refreshToken,
            accessExpiresAt: now + result.expiresIn)
        do {
            let text: [UInt8] = try sealing(request) { () throws(SealingFailure) in
                try stored.sealed(with: sealingKeys, poolID: settings.poolID)
            }
            let record = AuthorizationCodeRecord(
                hash: SHA256.hash(Array(code.utf8)), signInID: signIn.id, poolID: settings.poolID,
                result: text, family: random(16), expiresAt: now + HostedSignIn.codeLifetime)
            if try await withRecords(request, { try await hosted.codes.add(record, now: now) }) { return Secret(code) }
        } catch {
            await giveUp(result, request)
            throw error
        }
        await giveUp(result, request)
        return nil
    }

    /// Ends a session at Cognito whose tokens nobody has.
    ///
    /// - Parameter clientID: the app client of the tokens; nil: the gateway's own.
    func giveUp(_ result: AuthenticationResult, of clientID: String? = nil, _ request: AccountRequest) async {
        guard let refreshToken = result.refreshToken else { return }
        // A separate task: a client that disconnects must not interrupt the work.
        await Task { try? await revokeAtCognito(refreshToken, of: clientID, request) }.value
    }
}
