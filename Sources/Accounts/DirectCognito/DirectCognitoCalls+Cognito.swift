internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPClient
internal import Logging
internal import Pipeline

/// Cognito's part of an admitted direct call.
extension DirectCognitoCalls {
    func carryOut(
        _ call: TranslatedCall, of pool: DirectCognitoPool, _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        if call.claims != nil, revocations().isTooOld { throw .unavailable(.request(.revocationsUnavailable)) }
        // Cognito has carried out an earlier attempt: only the access tokens remain to be revoked. The call's own may
        // be revoked already.
        if sessions.unfinishedSignOuts.attempt(of: call)?.isCarriedOut == true { return .empty }
        if isRevoked(call.claims, of: pool) { return try await refuseRevoked(call, of: pool) }
        if isMade(call, at: pool) { return .empty }
        var answer =
            call.endsAllSessions
            ? try await endAllSessions(call, at: pool) : try await send(call.operation, call.input, to: pool)
        if let former = call.asFormerClient, answer.isRefusedToken {
            let second = try await send(call.operation, former, to: pool)
            if second.error == nil { answer = second }
        }
        if let error = answer.error { try check(error, call, request) }
        // A refresh token has no claims, but the access token from its exchange does.
        if ExactText(call.operation) == "GetTokensFromRefreshToken", isRevoked(answer.accessClaims, of: pool) {
            await endRevoked(call, answer, at: pool)
            throw .revokedRefreshToken
        }
        if call.isTranslatedRefresh { answer.speakAsInitiateAuth() }
        if call.isDecoy { answer.speakAsWrongPassword() }
        return answer
    }

    func isRevoked(_ claims: JSONObject?, of pool: DirectCognitoPool) -> Bool {
        claims.flatMap { VerifiedToken(claims: $0, of: pool) }.map(revocations().revokes) ?? false
    }

    /// Refuses a token on the revocation list; the call is not made. Cognito first confirms that the token is genuine,
    /// so that invented tokens reveal nothing about the list.
    private func refuseRevoked(
        _ call: TranslatedCall, of pool: DirectCognitoPool
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        var input: JSONObject = [:]
        input["AccessToken"] = call.input["AccessToken"]
        let answer = try await send("GetUser", input, to: pool)
        guard answer.error != nil else { throw .revokedAccessToken }
        guard call.endsAllSessions else { return answer }
        // Cognito may have revoked it with the sessions, in an attempt whose response was lost.
        return noteEnd(answer, of: call, after: sessions.unfinishedSignOuts.attempt(of: call))
    }

    func send(
        _ operation: String, _ input: JSONObject, to pool: DirectCognitoPool
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        let request = FetchRequest(
            method: "POST", url: pool.settings.endpoint,
            headers: [
                ("Content-Type", "application/x-amz-json-1.1"),
                ("X-Amz-Target", "AWSCognitoIdentityProviderService.\(operation)"),
            ],
            body: JSON.object(input).encoded(), deadline: pool.settings.deadline)
        do {
            return try CognitoAnswer(await pool.fetcher.fetch(request))
        } catch let error as FetchError {
            let unavailable = CognitoError(noAnswer: error)
            logger.warning(
                "a call to Cognito failed", metadata: ["operation": "\(operation)", "error": "\(unavailable.type)"])
            throw .unavailable(.cognito(unavailable.kind))
        } catch {
            logger.warning("the response is not Cognito's", metadata: ["operation": "\(operation)"])
            throw .unavailable(.cognito(.unavailable))
        }
    }

    /// Calls Cognito to end all sessions of a user, and stores the attempt until the access tokens are revoked too.
    private func endAllSessions(
        _ call: TranslatedCall, at pool: DirectCognitoPool
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        let attempts = sessions.unfinishedSignOuts
        let lost = attempts.attempt(of: call)
        let answer: CognitoAnswer
        do throws(DirectCognitoRefusal) {
            answer = try await send(call.operation, call.input, to: pool)
        } catch {
            attempts.note(UnfinishedSignOuts.Attempt(isCarriedOut: false, time: revocationTime()), of: call)
            throw error
        }
        return noteEnd(answer, of: call, after: lost)
    }

    /// Stores that the user's sessions have ended, if the response shows that.
    ///
    /// - Parameter lost: an earlier attempt whose response was lost.
    /// - Returns: the response for the app.
    private func noteEnd(
        _ answer: CognitoAnswer, of call: TranslatedCall, after lost: UnfinishedSignOuts.Attempt?
    ) -> CognitoAnswer {
        guard let time = endTime(answer, to: call, after: lost) else { return answer }
        sessions.unfinishedSignOuts.note(UnfinishedSignOuts.Attempt(isCarriedOut: true, time: time), of: call)
        return answer.error == nil ? answer : .empty
    }

    /// Returns the time at which the user's sessions have ended; nil if they continue.
    ///
    /// - Parameter lost: an earlier attempt whose response was lost.
    private func endTime(
        _ answer: CognitoAnswer, to call: TranslatedCall, after lost: UnfinishedSignOuts.Attempt?
    ) -> Int64? {
        guard let error = answer.error else { return revocationTime() }
        if ExactText(call.operation) == "DeleteUser" {
            // The user was deleted by an earlier attempt. A revoked token does not show that.
            return error.kind == .userNotFound ? revocationTime() : nil
        }
        return answer.isRevokedAccessToken ? lost?.time : nil
    }

    /// Revokes the refresh token of a sign-in that the guard refuses. Nobody gets its tokens.
    func takeBack(_ refreshToken: Secret?, from pool: DirectCognitoPool) async {
        guard let refreshToken else { return }
        var input: JSONObject = [
            "ClientId": .string(pool.settings.clientID), "Token": .string(refreshToken.exposeText()),
        ]
        input["ClientSecret"] = pool.settings.clientSecret.map { .string($0.exposeText()) }
        // A call that Cognito does not respond to is logged already.
        guard let error = (try? await send("RevokeToken", input, to: pool))?.error else { return }
        logger.warning(
            "a refused session continues at Cognito",
            metadata: ["pool_id": "\(pool.settings.poolID)", "error": "\(error.type)"])
    }

    /// Revokes the access tokens of the sessions that the call has ended at Cognito, and deletes the records of a
    /// deleted user.
    ///
    /// - Throws: 503 if the list or the records cannot be written.
    func endTokens(of call: TranslatedCall, at pool: DirectCognitoPool) async throws(DirectCognitoRefusal) {
        let isOfOneSession = ExactText(call.operation) == "RevokeToken"
        guard isOfOneSession || call.endsAllSessions, let subject = call.claimed.subject else { return }
        let time = sessions.unfinishedSignOuts.attempt(of: call)?.time ?? revocationTime()
        if ExactText(call.operation) == "DeleteUser" {
            do {
                try await forget(subject, pool.settings.poolID)
            } catch {
                throw .unavailable(.account(.sessionRecordsUnavailable))
            }
        }
        let endsAt = time + CognitoSignInSettings.longestAccessToken
        // A sign-in in the current second is not affected.
        var targets: [Revocation.Target] = isOfOneSession ? [] : [.subject(subject, before: time - 1)]
        if let originID = call.claimed.originID {
            targets += sessions.singlyRevoked.targets(
                for: [originID], of: subject, signedInUntil: call.signedInAt ?? time, until: endsAt, at: time)
        }
        // Tokens of a pool without token revocation have no `origin_jti`.
        guard !targets.isEmpty else { return }
        do {
            try await revoke(targets.map { Revocation(issuer: pool.settings.issuer, $0, endsAt: endsAt) })
        } catch {
            throw .unavailable(.account(.sessionRecordsUnavailable))
        }
        sessions.unfinishedSignOuts.finish(call)
    }

    /// Throws errors of the gateway's configuration as such, so that they never look like the caller's.
    private func check(
        _ error: CognitoError, _ call: TranslatedCall, _ request: DirectCognitoRequest
    ) throws(DirectCognitoRefusal) {
        switch error.kind {
        case .clientSecretRefused, .clientUnknown, .poolMisconfigured, .blockedByFirewall:
            logger.error(
                "Cognito refuses the gateway; check the setting",
                metadata: [
                    "operation": "\(call.operation)", "request_id": "\(request.requestID)", "error": "\(error.type)",
                    "setting": "\(error.kind.guiltySetting ?? "")",
                ])
            throw .unavailable(.cognito(error.kind))
        case .unavailable:
            throw .unavailable(.cognito(error.kind))
        case .unsupportedOperation:
            // The app gets the error unchanged: a retry would not help, and SDKs retry a 503.
            logger.error(
                "the user pool does not support an operation that an app calls",
                metadata: [
                    "operation": "\(call.operation)", "request_id": "\(request.requestID)", "error": "\(error.type)",
                    "setting": "\(error.kind.guiltySetting ?? "")",
                ])
        default: break
        }
    }
}

extension VerifiedToken {
    /// Creates the token from the claims that the revocation list compares; nil without `sub`. Cognito has issued the
    /// token, or verifies it afterwards.
    fileprivate init?(claims: JSONObject, of pool: DirectCognitoPool) {
        guard let subject = claims["sub"]?.stringValue else { return nil }
        self.init(
            issuer: pool.settings.issuer, issuerName: "", subject: subject, tokenUse: .access,
            clientID: pool.settings.clientID, expires: 0, issuedAt: claims["iat"]?.integerValue, claims: claims,
            keyID: "")
    }
}
