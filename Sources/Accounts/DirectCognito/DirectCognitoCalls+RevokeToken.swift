internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline

/// RevokeToken: an app's sign-out, which ends one session by its refresh token.
extension DirectCognitoCalls {
    /// Stores the session of the tokens in a response.
    func noteSession(_ answer: CognitoAnswer, to call: TranslatedCall, at pool: DirectCognitoPool) async {
        guard answer.error == nil, let claims = answer.accessClaims else { return }
        let given = answer.refreshToken.map { DirectCognitoTranslation.digest($0.exposeText()) }
        guard let digest = given ?? call.refreshDigest else { return }
        await noteSession(claims, by: digest)
        let isOfDevice = claims["device_key"] != nil || answer.newDeviceKey != nil || call.deviceKey != nil
        guard isOfDevice else { return }
        do {
            try await sessions.store(claims, by: digest, poolID: pool.settings.poolID)
        } catch {
            logger.warning(
                "a device's session was not stored; after a restart, a sign-out does not end its access tokens",
                metadata: ["pool_id": "\(pool.settings.poolID)", "error": "\(error)"])
        }
    }

    /// Carries out `RevokeToken`. Afterwards, the call has the claims of the ended session, if it is known.
    func signOut(
        _ call: inout TranslatedCall, of pool: DirectCognitoPool, _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        let known = try await knownSession(call, of: pool)
        let found = known == nil ? try await exchange(call, of: pool) : nil
        if let found, let digest = call.tokenDigest {
            // The app may repeat the call, and Cognito does not exchange a token that it has revoked.
            await noteSession(found.claims, by: digest)
        }
        // Before the app's own token, because only this attempt knows the successor.
        let isSuccessorEnded = try await end(found?.successor, inPlaceOf: call, at: pool, request)
        let answer = try await carryOut(call, of: pool, request)
        call.claims = known ?? found?.claims
        return isSuccessorEnded ? .empty : answer
    }

    /// Revokes the token by which Cognito may have replaced the app's own.
    ///
    /// - Returns: whether there was one, and it is revoked.
    private func end(
        _ successor: Secret?, inPlaceOf call: TranslatedCall, at pool: DirectCognitoPool,
        _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> Bool {
        guard let successor else { return false }
        var call = call
        call.input["Token"] = .string(successor.exposeText())
        call.asFormerClient?["Token"] = .string(successor.exposeText())
        return try await carryOut(call, of: pool, request).error == nil
    }

    private func knownSession(
        _ call: TranslatedCall, of pool: DirectCognitoPool
    ) async throws(DirectCognitoRefusal) -> JSONObject? {
        guard let digest = call.tokenDigest else { return nil }
        if let claims = try await sessionClaims(by: digest) { return claims }
        do {
            return try await sessions.storedClaims(by: digest, poolID: pool.settings.poolID)
        } catch {
            throw .unavailable(.account(.sessionRecordsUnavailable))
        }
    }

    /// The result of exchanging the token that is to be revoked. Its claims identify the session.
    private struct Exchanged {
        var claims: JSONObject
        /// The refresh token that replaces the other, in a pool with rotation.
        var successor: Secret?
    }

    /// Exchanges the refresh token; nil if Cognito no longer accepts it, or refuses the exchange.
    ///
    /// - Throws: if Cognito or a trigger of the pool fails: the app must try again, or the access tokens would stay
    ///   valid.
    private func exchange(
        _ call: TranslatedCall, of pool: DirectCognitoPool
    ) async throws(DirectCognitoRefusal) -> Exchanged? {
        for input in [call.input, call.asFormerClient].compactMap({ $0 }) {
            var exchange: JSONObject = [:]
            for name in ["ClientId", "ClientSecret"] { exchange[name] = input[name] }
            exchange["RefreshToken"] = input["Token"]
            let answer = try await send("GetTokensFromRefreshToken", exchange, to: pool)
            if let claims = answer.accessClaims {
                return Exchanged(claims: claims, successor: answer.refreshToken)
            }
            guard let error = answer.error else { continue }
            let metadata: Logger.Metadata = [
                "pool_id": "\(pool.settings.poolID)", "error": "\(error.type)",
            ]
            switch error.kind {
            case .throttled: throw .tooManyRequests(after: 5, reason: .cognito(.throttled))
            case .unavailable: throw .unavailable(.cognito(.unavailable))
            case .poolMisconfigured:
                logger.error("a session cannot be signed out; check the pool's triggers", metadata: metadata)
                throw .unavailable(.cognito(.poolMisconfigured))
            case .rejectedByTrigger, .userDisabled:
                logger.warning("a sign-out does not end the session's access tokens", metadata: metadata)
            default: break
            }
        }
        return nil
    }
}
