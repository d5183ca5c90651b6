internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension CognitoAccounts {
    func prepare(
        _ body: LogoutBody, _ request: AccountRequest, _ call: inout AccountCall
    ) throws(Refusal) -> AccountTask {
        let caller = request.bearer == nil ? nil : try caller(request)
        // A token that has expired or does not open leaves nothing to sign out of.
        let sealed = body.refreshToken.flatMap { text in
            try? SealedRefreshToken(opening: text, with: settings.sealingKeys, poolID: settings.poolID)
        }
        guard caller != nil || body.refreshToken != nil || request.bearerHasEnded else { throw .tokenMissing() }
        call.subject = caller?.subject ?? sealed?.subject
        call.session = caller.flatMap { CalledSession($0.identity) }
        // Somebody else's refresh token is not ended by the way.
        guard let sealed, caller?.subject.hasSameBytes(as: sealed.subject) != false else {
            return .logout(body, nil, caller)
        }
        call.session = CalledSession(sealed)
        return .logout(body, sealed, caller)
    }

    /// `POST logout`: what is held here ends first, so that it has ended whatever Cognito says.
    func logout(
        _ body: LogoutBody, _ sealed: SealedRefreshToken?, _ caller: Caller?, _ request: AccountRequest
    ) async throws(Refusal) -> AccountAnswer {
        guard let subject = caller?.subject ?? sealed?.subject else { return .done() }
        if body.allDevices {
            try await signOutEverywhere(subject, sealed, caller, request)
        } else {
            try await signOut(sealed, caller, request)
        }
        return .done(subject: subject)
    }

    private func signOut(
        _ sealed: SealedRefreshToken?, _ caller: Caller?, _ request: AccountRequest
    ) async throws(Refusal) {
        var origins = Set([caller?.originID, sealed?.originID].compactMap { $0 })
        let ended = try await kept(request) {
            try await sessions.end(family: sealed?.family, originIDs: origins)
        }
        origins.formUnion(ended.compactMap(\.originID))
        // The token shown may have a successor: the newest one is Cognito's to end.
        let newest = ended.map(\.refreshToken)
        let tokens = newest.isEmpty ? [sealed?.refreshToken].compactMap { $0 } : newest
        try await both { () async throws(Refusal) in
            try await revoke(origins.sorted().map(Revocation.Target.originID), request)
        } then: { () async throws(Refusal) in
            for token in tokens { try await revokeAtCognito(token, request) }
        }
    }

    /// The caller's own access token goes last: until Cognito has been told, it is what one can try again with.
    private func signOutEverywhere(
        _ subject: String, _ sealed: SealedRefreshToken?, _ caller: Caller?, _ request: AccountRequest
    ) async throws(Refusal) {
        let ended = try await kept(request) { try await sessions.endAll(of: subject) }
        let own = Set([caller?.originID].compactMap { $0 })
        let others = Set((ended.map(\.originID) + [sealed?.originID]).compactMap { $0 }).subtracting(own)
        try await both { () async throws(Refusal) in
            try await revoke(others.sorted().map(Revocation.Target.originID), request)
        } then: { () async throws(Refusal) in
            if let caller {
                try await globalSignOut(caller.token, request)
            } else if let sealed {
                try await signOutEverywhere(with: sealed, request)
            }
        }
        // A new sign-in in this very second is not meant; what this gateway knows of it is named one by one.
        try await revoke(
            [.subject(subject, before: now() - 1)] + own.sorted().map(Revocation.Target.originID), request)
    }

    /// GlobalSignOut takes an access token, which who has none any more gets once more for this.
    private func signOutEverywhere(
        with sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) {
        let result: AuthenticationResult
        do {
            result = try await refresher.tokens(for: sealed)
        } catch {
            try signedOutAlready(error, request)
            return
        }
        try await globalSignOut(result.accessToken, request)
    }

    private func globalSignOut(_ token: Secret, _ request: AccountRequest) async throws(Refusal) {
        do {
            _ = try await client.call(.globalSignOut, ["AccessToken": .string(token.exposeText())])
        } catch {
            try signedOutAlready(error, request)
        }
    }

    /// RevokeToken: it ends the refresh token, and the access tokens that came from it.
    func revokeAtCognito(_ token: Secret, _ request: AccountRequest) async throws(Refusal) {
        var input: JSONObject = ["ClientId": .string(app.clientID), "Token": .string(token.exposeText())]
        input["ClientSecret"] = app.rawSecret
        do {
            _ = try await client.call(.revokeToken, input)
        } catch {
            // An app client without token revocation: the token is sealed, and nobody unseals it any more.
            guard error.kind != .unsupportedOperation else { return }
            try signedOutAlready(error, request)
        }
    }

    /// A token that Cognito does not know any more is what signing out is for. Other failures are told: the client may
    /// try again.
    private func signedOutAlready(_ error: CognitoError, _ request: AccountRequest) throws(Refusal) {
        switch error.kind {
        case .tokenRevoked, .tokenExpired, .tokenReused, .badCredentials, .userNotFound, .userDisabled: return
        default: throw refusal(of: error, at: .bearer, request)
        }
    }
}
