internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import HTTPTypes
internal import Logging
internal import Pipeline

/// The hosted domain's part of an admitted direct request.
extension DirectCognitoCalls {
    func perform(
        _ request: DirectHostedRequest, _ hosted: HostedCall
    ) async throws(Refusal) -> AccountAnswer {
        switch request.path {
        // Always to the domain in the settings. Its own list of redirect URIs decides where the browser goes next.
        case .authorize, .login, .signUp, .forgotPassword, .logout:
            return .redirect(to: hosted.domain.url(of: request.path.rawValue, hosted.parameters))
        case .userInfo: return try await userInfo(request, hosted)
        case .token, .revoke: return try await tokens(request, hosted)
        }
    }

    private func tokens(
        _ request: DirectHostedRequest, _ hosted: HostedCall
    ) async throws(Refusal) -> AccountAnswer {
        let response = try await asked(request) { () async throws(CognitoError) in
            try await hosted.domain.post(request.path.rawValue, hosted.parameters)
        }
        guard let object = (try? JSON.parse(response.body))?.objectValue,
            let result = AuthenticationResult.oauth(object), let access = result.accessClaims,
            let user = AccountUser(accessClaims: access, idClaims: result.idClaims)
        else { throw .retryLater(.identityProviderUnavailable, after: 5, reason: .cognito(.unavailable)) }
        owner(hosted.pool)?.tokenCheck?.note(result.accessToken)
        if let token = result.refreshToken {
            sessions.note(access, by: DirectCognitoTranslation.digest(token.exposeText()))
        }
        var answer = AccountAnswer(.ok, object, subject: user.id, outcome: .signedIn(user))
        answer.sessionEnd = { [self] in
            // A separate task: a client that disconnects must not interrupt the work.
            await Task { await takeBack(result.refreshToken, from: hosted.pool) }.value
        }
        return answer
    }

    private func userInfo(
        _ request: DirectHostedRequest, _ hosted: HostedCall
    ) async throws(Refusal) -> AccountAnswer {
        let invalid = Refusal.tokenInvalid(.notAuthorized, reason: .cognito(.tokenRevoked))
        guard let token = request.bearer, let claims = hosted.pool.claims(of: token.exposeText()) else { throw invalid }
        guard !revocations().isTooOld else { throw .revocationsUnavailable }
        let response = try await asked(request) { () async throws(CognitoError) in
            try await hosted.domain.userInfo(token)
        }
        guard let object = (try? JSON.parse(response.body))?.objectValue, !isRevoked(claims, of: hosted.pool) else {
            throw invalid
        }
        return AccountAnswer(.ok, object, subject: claims["sub"]?.stringValue)
    }

    /// - Returns: a response with status 200.
    /// - Throws: the domain's refusal as the caller's error; 503 if the domain is unavailable or refuses the gateway.
    private func asked(
        _ request: DirectHostedRequest, _ ask: () async throws(CognitoError) -> FetchResponse
    ) async throws(Refusal) -> FetchResponse {
        let error: CognitoError
        do throws(CognitoError) {
            let response = try await ask()
            if response.status == 200 { return response }
            error = CognitoError(oauth: response)
        } catch let failure {
            error = failure
        }
        let reason = Reason.cognito(error.kind)
        switch error.kind {
        case .codeMismatch: throw Refusal(.notAuthorized, message: "The code is not valid.", reason: reason)
        case .tokenRevoked: throw .tokenInvalid(.notAuthorized, reason: reason)
        case .invalidParameter: throw Refusal(.invalidParameter, reason: reason)
        default:
            logger.error(
                "the hosted domain refuses the gateway, or cannot be reached",
                metadata: [
                    "operation": "\(request.path.rawValue)", "request_id": "\(request.direct.requestID)",
                    "error": "\(error.type)", "setting": "\(error.kind.guiltySetting ?? "")",
                ])
            throw .retryLater(.identityProviderUnavailable, after: 5, reason: reason)
        }
    }
}
