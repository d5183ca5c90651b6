internal import Encoding
internal import GRDB
internal import Store

extension LocalApple {
    /// `POST /auth/token`: exchanges an authorization code or a refresh token for tokens.
    func tokens(_ form: FormFields) async throws -> JSONObject {
        let clientID = try authenticatedClient(form)
        switch try form.required("grant_type") {
        case "authorization_code": return try await exchange(form.required("code"), clientID)
        case "refresh_token": return try await refresh(form.required("refresh_token"), clientID)
        default: throw AppleError.unsupportedGrantType
        }
    }

    /// The client that sent the form.
    func authenticatedClient(_ form: FormFields) throws -> String {
        let clientID = try form.required("client_id")
        try ClientSecretCheck(apple: configuration).check(
            form.required("client_secret"), for: clientID, now: clock())
        return clientID
    }

    /// Redeems a code, which is valid once, for a few minutes, and only for the client that it was issued to.
    private func exchange(_ code: String, _ clientID: String) async throws -> JSONObject {
        let now = clock()
        let (refreshText, accessText) = (AppleToken.text(.refresh, random), AppleToken.text(.access, random))
        let (signIn, access) = try await store.write { database in
            guard let signIn = try AppleToken.find(code, in: database), signIn.kind == .code, signIn.usedAt == nil,
                let expires = signIn.expires, expires > now
            else { throw AppleError.invalidGrant }
            guard signIn.clientID == clientID else { throw AppleError.otherClient }
            try AppleToken.markUsed(code, in: database, now: now)
            let refresh = AppleToken(kind: .refresh, sub: signIn.sub, clientID: clientID, authTime: signIn.authTime)
            try refresh.insert(refreshText, in: database)
            return (signIn, try giveAccess(accessText, for: refresh, in: database, now: now))
        }
        var answer = try self.answer(accessText, access, for: signIn)
        answer["refresh_token"] = .string(refreshText)
        return answer
    }

    /// Refreshes. The refresh token stays the same and is not in the response.
    private func refresh(_ refreshText: String, _ clientID: String) async throws -> JSONObject {
        let now = clock()
        let accessText = AppleToken.text(.access, random)
        let (refresh, access) = try await store.write { database in
            guard let refresh = try AppleToken.find(refreshText, in: database), refresh.kind == .refresh,
                refresh.clientID == clientID
            else { throw AppleError.invalidToken }
            return (refresh, try giveAccess(accessText, for: refresh, in: database, now: now))
        }
        return try answer(accessText, access, for: refresh)
    }

    /// The user of a token, and the choice of the e-mail address for the client.
    private struct Access {
        var account: AppleAccount
        var hidesEmail: Bool
    }

    private func giveAccess(
        _ text: String, for grant: AppleToken, in database: Database, now: Int64
    ) throws -> Access {
        guard let account = try AppleAccount.find(grant.sub, in: database),
            let consent = try AppleConsent.find(grant.sub, grant.clientID, in: database)
        else { throw AppleError.invalidToken }
        try AppleToken(
            kind: .access, sub: grant.sub, clientID: grant.clientID, authTime: grant.authTime,
            expires: now + configuration.lifetimes.accessToken
        ).insert(text, in: database)
        return Access(account: account, hidesEmail: consent.hidesEmail)
    }

    private func answer(_ accessText: String, _ access: Access, for grant: AppleToken) throws -> JSONObject {
        let claims = claims(access.account, grant, hidesEmail: access.hidesEmail, with: .accessToken(accessText))
        return [
            "access_token": .string(accessText), "token_type": "Bearer",
            "expires_in": .number(JSONNumber(configuration.lifetimes.accessToken)),
            "id_token": .string(try identityToken(claims, by: keys.server)),
        ]
    }

    /// `POST /auth/revoke`: revokes all of the user's tokens for the client, given a refresh or access token. Unknown
    /// tokens and those of other clients change nothing and are no error (RFC 7009, 2.2).
    func revoke(_ form: FormFields) async throws {
        let clientID = try authenticatedClient(form)
        let text = try form.required("token")
        try await store.write { database in
            guard let token = try AppleToken.find(text, in: database), token.kind != .code, token.clientID == clientID
            else { return }
            try AppleConsent.withdraw(token.sub, clientID, in: database)
        }
    }
}
