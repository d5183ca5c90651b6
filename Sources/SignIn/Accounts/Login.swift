internal import Cryptography
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    /// `POST login`: `USER_PASSWORD_AUTH` with the name as typed.
    func login(_ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let body = try LoginBody(request.jsonObject())
        let output = try await call(
            .initiateAuth, passwordInput(body, request), for: request, refusing: AccountRefusals.login)
        switch AuthenticationAnswer(output) {
        case .tokens(let result): return try signedIn(result, body, request)
        case .challenge(let challenge): return try self.challenge(challenge, request)
        case nil: throw unusable("UnexpectedAnswer", request)
        }
    }

    private func passwordInput(_ body: LoginBody, _ request: AccountRequest) -> JSONObject {
        var parameters: JSONObject = [
            "USERNAME": .string(body.email), "PASSWORD": .string(body.password.exposeText()),
        ]
        parameters["SECRET_HASH"] = settings.clientSecret.map {
            .string(secretHash(username: body.email, clientID: settings.clientID, clientSecret: $0))
        }
        var input: JSONObject = [
            "AuthFlow": "USER_PASSWORD_AUTH",
            "ClientId": .string(settings.clientID),
            "AuthParameters": .object(parameters),
        ]
        input["UserContextData"] = userContext(request)
        return input
    }

    private func signedIn(
        _ result: AuthenticationResult, _ body: LoginBody, _ request: AccountRequest
    ) throws(Refusal) -> AccountAnswer {
        guard let access = result.accessClaims, let refreshToken = result.refreshToken,
            let user = AccountUser(accessClaims: access, idClaims: result.idClaims)
        else { throw unusable("UnreadableTokens", request) }
        let issuedAt = now()
        let brief = min(settings.briefRefreshLifetime, settings.refreshLifetime)
        let sealed = SealedRefreshToken(
            clientID: settings.clientID, username: user.username, refreshToken: refreshToken,
            deviceID: body.device?.deviceID, family: random(16), issuedAt: issuedAt,
            expiresAt: issuedAt + (body.rememberMe ? settings.refreshLifetime : brief))
        var answer: JSONObject = ["user": .object(user.object)]
        answer.addTokens(
            result, refreshToken: try seal(sealed, request), scope: access["scope"],
            withIDToken: settings.returnIDToken)
        return AccountAnswer(.ok, answer, subject: user.id)
    }

    private func challenge(
        _ challenge: AuthenticationChallenge, _ request: AccountRequest
    ) throws(Refusal) -> AccountAnswer {
        guard AuthenticationChallenge.supported.contains(challenge.name) else {
            throw unusable("UnsupportedChallenge", request)
        }
        return AccountAnswer(
            .accepted,
            [
                "challenge": .string(challenge.name), "session": .string(challenge.session.exposeText()),
                "parameters": .object(challenge.clientParameters),
            ])
    }
}

extension JSONObject {
    /// Adds the members that sign-in and refresh share.
    mutating func addTokens(
        _ result: AuthenticationResult, refreshToken: Secret, scope: JSON?, withIDToken: Bool
    ) {
        self["access_token"] = .string(result.accessToken.exposeText())
        self["refresh_token"] = .string(refreshToken.exposeText())
        if withIDToken, let idToken = result.idToken { self["id_token"] = .string(idToken.exposeText()) }
        self["token_type"] = "Bearer"
        self["expires_in"] = .number(JSONNumber(result.expiresIn))
        self["scope"] = scope
    }
}
