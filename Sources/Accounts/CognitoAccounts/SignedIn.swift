internal import Cognito
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

extension CognitoAccounts {
    /// Completes a sign-in: begins the session here and in the records, and returns its tokens.
    ///
    /// - Throws: ``AccountError/authorizationCodeReused`` if the authorization code has been used. No session begins
    ///   then, and the session of the code's first use continues.
    func signedIn(
        _ result: AuthenticationResult, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        guard let access = result.accessClaims, let refreshToken = result.refreshToken,
            let user = AccountUser(accessClaims: access, idClaims: result.idClaims)
        else { throw unusable("UnreadableTokens", request) }
        let device = await confirmedDevice(result, context, user, request)
        let time = now()
        let brief = min(settings.briefRefreshLifetime, settings.refreshLifetime)
        let sealed = SealedRefreshToken(
            clientID: settings.clientID, username: user.username, subject: user.id,
            originID: access["origin_jti"]?.stringValue, refreshToken: refreshToken, deviceID: context.deviceID,
            deviceKey: device?.key ?? result.newDevice?.key, family: context.code?.family ?? random(16), generation: 0,
            issuedAt: max(time, signInTime(access)),
            expiresAt: time + (context.rememberMe ? settings.refreshLifetime : brief))
        let tokens: JSONObject?
        do {
            tokens = try await begin(sealed, result, user, device, context, request)
        } catch {
            // A code that has begun no session can be used again, which requires the tokens that Cognito gave for it.
            await takeBack(sealed, request, evenIfNotBegun: context.code == nil)
            throw error
        }
        guard let tokens else { throw OAuthTokenEndpoint.invalid(.authorizationCodeReused) }
        tokenCheck?.note(result.accessToken)
        var answer = AccountAnswer.showing(shown(user), subject: user.id, outcome: .signedIn(user)) { user in
            var body: JSONObject = ["user": .object(user)]
            for (name, value) in tokens { body[name] = value }
            return body
        }
        answer.sessionEnd = { await self.takeBack(sealed, request, evenIfNotBegun: true) }
        return answer
    }

    /// Returns the time of the sign-in by Cognito's clock, as the revocation list compares it for the session's access
    /// tokens. It may be ahead of the gateway's clock by the tolerance for tokens.
    func signInTime(_ access: JSONObject) -> Int64 {
        min(access["auth_time"]?.numberValue?.numericDate ?? now(), now() + Issuer.longestSkew)
    }

    /// Begins the session.
    ///
    /// - Returns: the response's body without the user; nil if the authorization code has been used.
    private func begin(
        _ sealed: SealedRefreshToken, _ result: AuthenticationResult, _ user: AccountUser,
        _ device: DeviceCredentials?, _ context: SignInContext, _ request: AccountRequest
    ) async throws(Refusal) -> JSONObject? {
        let text = try sealing(request) { () throws(SealingFailure) in
            try sealed.sealed(with: sealingKeys, poolID: settings.poolID)
        }
        var body: JSONObject = [:]
        body.addTokens(
            result, refreshToken: text, scope: result.accessClaims?["scope"], withIDToken: settings.returnIDToken)
        if let device {
            let known = SealedDevice(
                credentials: device, username: user.username, account: context.account,
                expiresAt: now() + settings.deviceTokenLifetime)
            let token = try sealing(request) { () throws(SealingFailure) in
                try known.sealed(with: sealingKeys, poolID: settings.poolID)
            }
            body["device_token"] = .string(token.exposeText())
        }
        let isBegun = try await withRecords(request) {
            try await sessions.begin(sealed, text, on: context.device, redeeming: context.code?.hash)
        }
        return isBegun ? body : nil
    }

    /// Ends the session of a sign-in that fails, here and at Cognito. Nobody has a token of it, so the revocation list
    /// needs no entry. Failures are logged, and none prevents the other steps.
    ///
    /// - Parameter evenIfNotBegun: whether to end it at Cognito even if no session has begun here.
    private func takeBack(_ sealed: SealedRefreshToken, _ request: AccountRequest, evenIfNotBegun: Bool) async {
        // A separate task: a client that disconnects must not interrupt the work.
        await Task {
            let ended = try? await withRecords(request) { try await sessions.end(family: sealed.family, originIDs: []) }
            guard evenIfNotBegun || ended?.isEmpty == false else { return }
            try? await revokeAtCognito(sealed.refreshToken, request)
        }.value
    }

    /// Returns the device's credentials from now on; nil if there are none.
    ///
    /// If a device cannot be confirmed, its user is merely asked again: no reason to refuse the sign-in.
    private func confirmedDevice(
        _ result: AuthenticationResult, _ context: SignInContext, _ user: AccountUser, _ request: AccountRequest
    ) async -> DeviceCredentials? {
        guard let new = result.newDevice else { return context.credentials }
        do {
            return try await DeviceRegistration(client: client, random: random).confirm(
                new, accessToken: result.accessToken, name: context.device?.name ?? context.device?.model,
                isRemembered: context.rememberMe)
        } catch {
            logger.warning(
                "a device could not be confirmed",
                metadata: [
                    "request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)", "error": "\(error.type)",
                ])
            return nil
        }
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
