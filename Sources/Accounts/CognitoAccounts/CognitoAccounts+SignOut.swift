internal import Cognito
internal import Cryptography
internal import Encoding
internal import Pipeline
internal import Store

/// The end of sessions, here and at Cognito.
extension CognitoAccounts {
    func signOut(
        _ sealed: SealedRefreshToken?, _ caller: Caller?, _ request: AccountRequest
    ) async throws(Refusal) {
        var origins = Set([caller?.originID, sealed?.originID].compactMap { $0 })
        let ended = try await withRecords(request) {
            try await sessions.end(family: sealed?.family, originIDs: origins)
        }
        origins.formUnion(ended.compactMap(\.originID))
        // The token shown may have a successor: the newest one is Cognito's to end.
        let shown = [sealed].compactMap { $0 }.map { ($0.clientID, $0.refreshToken) }
        let tokens = ended.isEmpty ? shown : ended.map { ($0.clientID, $0.refreshToken) }
        let newest = ([caller?.signedInAt, sealed?.issuedAt].compactMap { $0 } + ended.map(\.signedInAt)).max()
        let targets = targets(for: origins, of: caller?.subject ?? sealed?.subject, signedInUntil: newest)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            for (clientID, token) in tokens { try await revokeAtCognito(token, of: clientID, request) }
        }
    }

    /// The caller's own access token goes last: until Cognito has been told, it is what one can try again with.
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

    /// Without an access token, a refresh token has a say over other sessions only where it could be exchanged: as the
    /// newest one of a session that goes on, and of this app client. Else whoever keeps an old one could sign the user
    /// out at will. Its own session goes last, as the access token does otherwise.
    ///
    /// - Parameter sealed: nil for a token that does not open.
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

    /// - Returns: what the token was exchanged for, where it was before; nil where it is still to be exchanged.
    /// - Throws: 401 for a token that could not be exchanged.
    private func admitted(
        _ sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession? {
        // Of a session without a record, Cognito alone knows whether it goes on.
        guard try await withRecords(request, { try await sessions.records.session(sealed.family) }) != nil else {
            return try await exchange(sealed, on: nil, request)
        }
        return try await flights.sessions.alone(sealed.family) { () async throws(Refusal) in
            // As whoever was before in the queue has left it.
            let known = try await withRecords(request) { try await sessions.records.session(sealed.family) }
            let standing = sessions.standingOverOthers(of: sealed.generation, in: known)
            return try await judge(standing, sealed, on: nil, request)
        }
    }

    /// Whoever signs out everywhere once more is signed out: none of the user's sessions may go on.
    func checkSignedOut(
        _ subject: String, else refusal: Refusal, _ request: AccountRequest
    ) async throws(Refusal) {
        let stored = try await withRecords(request) { try await sessions.openSessions(of: subject) }
        guard !stored.contains(where: { $0.isOpen(at: now()) }) else { throw refusal }
    }

    /// GlobalSignOut takes an access token, which who has none any more gets once more for this. A refresh token that
    /// is rotated by it is kept, so that the same one can be shown again; nil for one that Cognito takes no more.
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

    /// A new sign-in in this very second is not meant; what this gateway knows of it is named one by one.
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

    /// RevokeToken: it ends the refresh token, and the access tokens that came from it.
    ///
    /// - Parameter clientID: of the app client that the token is of; nil: the gateway's own. One that is configured no
    ///   more cannot be asked for, and nobody unseals its token any more.
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
            // An app client without token revocation: with its session, the gateway unseals the token no more.
            guard error.kind != .unsupportedOperation else { return }
            try signedOutAlready(error, request)
        }
    }

    func revokeToken(_ token: Secret, of app: AppClient) async throws(CognitoError) {
        var input: JSONObject = ["ClientId": .string(app.clientID), "Token": .string(token.exposeText())]
        input["ClientSecret"] = app.rawSecret
        _ = try await client.call(.revokeToken, input)
    }

    /// A token that Cognito does not know any more is what signing out is for. Other failures are told: the client may
    /// try again.
    func signedOutAlready(_ error: CognitoError, _ request: AccountRequest) throws(Refusal) {
        switch error.kind {
        case .tokenRevoked, .tokenExpired, .tokenReused, .badCredentials, .userNotFound, .userDisabled: return
        default: throw refusal(of: error, at: .bearer, request)
        }
    }
}
