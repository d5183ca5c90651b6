internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline
internal import Store

/// Sign-out: ends sessions here and at Cognito.
extension CognitoAccounts {
    /// Ends one session.
    ///
    /// - Parameters:
    ///   - sealed: the session's refresh token, if the request has one.
    ///   - token: the session's access token, if the request has one.
    func signOut(
        _ sealed: SealedRefreshToken?, _ token: VerifiedToken?, _ request: AccountRequest
    ) async throws(Refusal) {
        var origins = Set([token?.originID, sealed?.originID].compactMap { $0 })
        let ended = try await withRecords(request) {
            try await sessions.end(family: sealed?.family, originIDs: origins)
        }
        origins.formUnion(ended.compactMap(\.originID))
        // The client's token may have a successor: Cognito must revoke the newest one.
        let shown = [sealed].compactMap { $0 }.map { ($0.clientID, $0.refreshToken) }
        let tokens = ended.isEmpty ? shown : ended.map { ($0.clientID, $0.refreshToken) }
        let newest = ([token?.signedInAt, sealed?.issuedAt].compactMap { $0 } + ended.map(\.signedInAt)).max()
        let targets = targets(for: origins, of: token?.subject ?? sealed?.subject, signedInUntil: newest)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            for (clientID, token) in tokens { try await revokeAtCognito(token, of: clientID, request) }
        }
    }

    /// Ends all sessions of the caller. The caller's own access token is revoked last: until Cognito has ended the
    /// sessions, a repeated call needs it.
    func signOutEverywhere(
        _ caller: Caller, _ sealed: SealedRefreshToken?, _ request: AccountRequest
    ) async throws(Refusal) {
        let ended = try await withRecords(request) { try await sessions.endAll(of: caller.subject) }
        let own = Set([caller.originID].compactMap { $0 })
        let others = Set((ended.map(\.originID) + [sealed?.originID]).compactMap { $0 }).subtracting(own)
        let newest = ([sealed?.issuedAt].compactMap { $0 } + ended.map(\.signedInAt)).max()
        let targets = targets(
            for: others, of: caller.subject, signedInUntil: newest, sparing: caller.originID)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            try await globalSignOut(caller.token, request)
        }
        try await revokeAll(of: caller.subject, own, signedInAt: caller.signedInAt, request)
    }

    /// Ends all sessions of a user whose client has only a refresh token. The token allows this only if it could be
    /// exchanged: as the newest one of an open session, and of this app client. Otherwise anybody with an old token
    /// could sign the user out. Its own session ends last, as the access token otherwise does.
    ///
    /// - Parameter sealed: nil for a token that cannot be unsealed.
    /// - Returns: the user's `sub`.
    func signOutEverywhere(
        with sealed: SealedRefreshToken?, _ request: AccountRequest
    ) async throws(Refusal) -> String {
        guard let sealed, tokenClient(sealed.clientID) != nil else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.invalidRefreshToken))
        }
        guard !sealed.hasExpired(at: now()) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.expiredRefreshToken))
        }
        let known: RefreshedSession?
        do {
            known = try await admitted(sealed, request)
        } catch {
            guard error.reason == .account(.sessionEnded) else { throw error }
            try await checkSignedOut(sealed.subject, else: error, request)
            return sealed.subject
        }
        let ended = try await withRecords(request) {
            try await sessions.endAll(of: sealed.subject, except: sealed.family)
        }
        let targets = targets(
            for: Set(ended.compactMap(\.originID)), of: sealed.subject, signedInUntil: ended.map(\.signedInAt).max(),
            sparing: sealed.originID)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            let token: Secret? =
                if let known { known.accessToken } else { try await accessToken(for: sealed, request) }
            if let token { try await globalSignOut(token, request) }
        }
        let own = Set([sealed.originID].compactMap { $0 })
        try await revokeAll(of: sealed.subject, own, signedInAt: sealed.issuedAt, request)
        _ = try await withRecords(request) { try await sessions.end(family: sealed.family, originIDs: []) }
        return sealed.subject
    }

    /// - Returns: the result of the token's earlier exchange; nil if it is still to be exchanged.
    /// - Throws: 401 for a token that could not be exchanged.
    private func admitted(
        _ sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession? {
        // Only Cognito knows whether a session without a record is still open.
        guard try await withRecords(request, { try await sessions.records.session(sealed.family) }) != nil else {
            return try await exchange(sealed, on: nil, request)
        }
        return try await flights.sessions.alone(sealed.family) { () async throws(Refusal) in
            // The record as the previous call in the queue has left it.
            let known = try await withRecords(request) { try await sessions.records.session(sealed.family) }
            let standing = sessions.standingOverOthers(of: sealed.generation, in: known)
            return try await judge(standing, sealed, on: nil, request)
        }
    }

    /// Accepts the repetition of a sign-out from all sessions.
    ///
    /// - Throws: `refusal` if the user has an open session.
    func checkSignedOut(
        _ subject: String, else refusal: Refusal, _ request: AccountRequest
    ) async throws(Refusal) {
        let stored = try await withRecords(request) { try await sessions.openSessions(of: subject) }
        guard !stored.contains(where: { $0.isOpen(at: now()) }) else { throw refusal }
    }

    /// Exchanges the refresh token for an access token, which GlobalSignOut requires. If Cognito rotates the refresh
    /// token, the new one is stored, so that the client can repeat the call with the same token.
    ///
    /// - Returns: nil if Cognito no longer accepts the token.
    private func accessToken(
        for sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) -> Secret? {
        let known = try await withRecords(request) { try await sessions.records.session(sealed.family) }
        let sealed = try current(sealed, in: known, request)
        let refresher = try refresher(for: sealed)
        let result: AuthenticationResult
        do throws(CognitoError) {
            result = try await refresher.tokens(for: sealed.provided)
        } catch {
            try signedOutAlready(error, request)
            return nil
        }
        guard result.refreshToken != nil else { return result.accessToken }
        let isUnknown = if case nil = known { true } else { false }
        return try await keep(result, sealed, on: nil, mayBegin: isUnknown, request).accessToken
    }

    /// Revokes all access tokens of a user. A sign-in in the current second is not affected, except those that this
    /// gateway knows, which are revoked one by one.
    private func revokeAll(
        of subject: String, _ own: Set<String>, signedInAt time: Int64?, _ request: AccountRequest
    ) async throws(Refusal) {
        try await revoke(
            [.subject(subject, before: revocationTime() - 1)] + targets(for: own, of: subject, signedInUntil: time),
            request)
    }

    private func globalSignOut(_ token: Secret, _ request: AccountRequest) async throws(Refusal) {
        do {
            _ = try await client.call(.globalSignOut, ["AccessToken": .string(token.exposeText())])
        } catch {
            try signedOutAlready(error, request)
        }
    }

    /// Calls RevokeToken, which ends the refresh token and the access tokens derived from it.
    ///
    /// - Parameter clientID: the token's app client; nil: the gateway's own. If it is no longer configured, the gateway
    ///   can neither make the call nor unseal the token.
    func revokeAtCognito(
        _ token: Secret, of clientID: String? = nil, _ request: AccountRequest
    ) async throws(Refusal) {
        guard let app = if let clientID { poolClient(clientID) } else { app } else { return }
        try await revokeAtCognito(token, of: app, request)
    }

    func revokeAtCognito(_ token: Secret, of app: AppClient, _ request: AccountRequest) async throws(Refusal) {
        do {
            try await revokeToken(token, of: app)
        } catch {
            // The app client has no token revocation: once the session has ended, the gateway no longer unseals the
            // token.
            guard error.kind != .unsupportedOperation else { return }
            try signedOutAlready(error, request)
        }
    }

    func revokeToken(_ token: Secret, of app: AppClient) async throws(CognitoError) {
        var input: JSONObject = ["ClientId": .string(app.clientID), "Token": .string(token.exposeText())]
        input["ClientSecret"] = app.rawSecret
        _ = try await client.call(.revokeToken, input)
    }

    /// Accepts the error of a token that Cognito no longer knows: the sign-out is done.
    ///
    /// - Throws: the refusal of any other error; the client may try again.
    func signedOutAlready(_ error: CognitoError, _ request: AccountRequest) throws(Refusal) {
        switch error.kind {
        case .tokenRevoked, .tokenExpired, .tokenReused, .badCredentials, .userNotFound, .userDisabled: return
        default: throw refusal(of: error, at: .bearer, request)
        }
    }
}
