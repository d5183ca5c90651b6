internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline

/// The end of one session by its refresh token, as an app's own sign-out asks for it.
extension DirectCognitoCalls {
    /// Notes the session that a response gives tokens of.
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

    /// Carries `RevokeToken` out. The session that it ends is in the call's claims afterwards, where it is known.
    func signOut(
        _ call: inout TranslatedCall, of pool: DirectCognitoPool, _ request: DirectCognitoRequest
    ) async throws(DirectCognitoRefusal) -> CognitoAnswer {
        let known = try await knownSession(call, of: pool)
        let found = known == nil ? try await exchange(call, of: pool) : nil
        var answer = try await carryOut(call, of: pool, request)
        if let found, let next = found.successor {
            // Cognito may have put it in the place of the app's own.
            var later = call
            later.input["Token"] = .string(next.exposeText())
            later.asFormerClient?["Token"] = .string(next.exposeText())
            let second = try await carryOut(later, of: pool, request)
            if second.error == nil { answer = .empty }
        }
        call.claims = known ?? found?.claims
        return answer
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

    /// The tokens that Cognito gives for the one that is to end. The claims name the session.
    private struct Exchanged {
        var claims: JSONObject
        /// The refresh token that takes the other's place, in a pool that rotates them.
        var successor: Secret?
    }

    /// Nil for a token that Cognito takes no more.
    ///
    /// - Throws: where Cognito cannot be had: the app has to try again, or the access tokens would go on.
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
            switch answer.error?.kind {
            case .throttled: throw .tooManyRequests(after: 5, reason: .cognito(.throttled))
            case .unavailable: throw .unavailable(.cognito(.unavailable))
            default: break
            }
        }
        return nil
    }
}
