internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline
internal import Store

/// The takeover of sessions: the provider refresh tokens of released apps become sealed ones.
extension CognitoAccounts {
    /// Returns the record of the session that a provider token has become; nil for a token seen for the first time.
    func record(of shown: ShownRefreshToken, _ request: AccountRequest) async throws(Refusal) -> SessionRecord? {
        try await withRecords(request) {
            try await sessions.records.session(shown.family(poolID: settings.poolID))
        }
    }

    /// Exchanges the token and begins a session with the result. A token that was exchanged before is treated like a
    /// used sealed one: it returns its successor until that is used, and ends the session afterwards.
    func takeOver(
        _ shown: ShownRefreshToken, metadata: JSON?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        let deviceID = shown.device?.deviceID
        let standIn = shown.standIn(poolID: settings.poolID, deviceID: deviceID)
        return try await inTurn(standIn, on: deviceID, request) { (standIn, mayBegin) async throws(Refusal) in
            let exchanged: (result: AuthenticationResult, client: TokenClient)
            do throws(CognitoError) {
                exchanged = try await exchange(shown, metadata)
            } catch {
                return try await otherwise(error, standIn, on: deviceID, request)
            }
            let sealed = try await begin(standIn, exchanged.result, of: exchanged.client, request)
            let session = try await keep(
                exchanged.result, sealed, begunOn: shown.device, on: deviceID, mayBegin: mayBegin, request)
            logger.info(
                "a session was taken over",
                metadata: [
                    "request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)",
                    "client_id": "\(exchanged.client.app.clientID)",
                ])
            return session
        }
    }

    /// Signs out with a provider token: from the session that it has become, or from the one that exists only at
    /// Cognito.
    ///
    /// - Returns: the record of the session; nil if there is none, and for another user's, which continues.
    func signOut(
        _ shown: ShownRefreshToken, _ caller: Caller?, _ request: AccountRequest
    ) async throws(Refusal) -> SessionRecord? {
        // Waits for a refresh in progress here, which may begin the session.
        try await flights.sessions.alone(shown.family(poolID: settings.poolID)) {
            () async throws(Refusal) -> SessionRecord? in
            guard let record = try await record(of: shown, request) else {
                try await both { () async throws(Refusal) in
                    try await signOut(nil, caller?.identity, request)
                } then: { () async throws(Refusal) in
                    try await revokeAtCognito(shown, request)
                }
                return nil
            }
            guard caller?.subject.hasSameBytes(as: record.subject) != false else {
                try await signOut(nil, caller?.identity, request)
                return nil
            }
            var standIn = shown.standIn(poolID: settings.poolID, deviceID: record.deviceID)
            (standIn.subject, standIn.originID) = (record.subject, record.originID)
            standIn.issuedAt = record.signedInAt
            try await signOut(standIn, caller?.identity, request)
            // An earlier attempt may have ended the session only here.
            if record.endedAt != nil { try await revokeAtCognito(shown, request) }
            return record
        }
    }

    /// Calls RevokeToken as the app client that the token was issued to.
    private func revokeAtCognito(_ shown: ShownRefreshToken, _ request: AccountRequest) async throws(Refusal) {
        for client in clients(of: shown) {
            do throws(CognitoError) {
                return try await revokeToken(shown.token, of: client.app)
            } catch {
                // The token is another client's, or the client has no token revocation.
                guard !error.isOfOtherClient, error.kind != .unsupportedOperation else { continue }
                return try signedOutAlready(error, request)
            }
        }
    }

    /// Returns the clients to try in turn: the token does not name its client.
    private func clients(of shown: ShownRefreshToken) -> [TokenClient] {
        let listed = settings.sessionTakeover?.clientIDs ?? []
        return (shown.clientID.map { [$0] } ?? listed).compactMap(tokenClient)
    }

    private func exchange(
        _ shown: ShownRefreshToken, _ metadata: JSON?
    ) async throws(CognitoError) -> (result: AuthenticationResult, client: TokenClient) {
        for client in clients(of: shown) {
            do throws(CognitoError) {
                let result = try await client.refresher.tokens(
                    forShown: shown.token, deviceKey: shown.deviceKey, metadata: metadata)
                return (result, client)
            } catch {
                guard error.isOfOtherClient else { throw error }
            }
        }
        throw CognitoError(type: "NotAuthorizedException", message: "Invalid Refresh Token")
    }

    /// Begins the session, with the end of a session that began here at the time of the sign-in. A session that is past
    /// that end or revoked also ends at Cognito.
    ///
    /// - Throws: 401 for such a session.
    private func begin(
        _ standIn: SealedRefreshToken, _ result: AuthenticationResult, of client: TokenClient,
        _ request: AccountRequest
    ) async throws(Refusal) -> SealedRefreshToken {
        guard let access = result.accessClaims, let subject = access["sub"]?.stringValue,
            let username = access["username"]?.stringValue
        else { throw unusable("UnreadableTokens", request) }
        let signedInAt = signInTime(access)
        var sealed = standIn
        sealed.clientID = client.app.clientID
        (sealed.username, sealed.subject) = (username, subject)
        sealed.originID = access["origin_jti"]?.stringValue
        sealed.deviceKey = access["device_key"]?.stringValue ?? standIn.deviceKey
        (sealed.issuedAt, sealed.expiresAt) = (signedInAt, min(signedInAt, now()) + settings.refreshLifetime)
        let token = VerifiedToken(
            issuer: settings.issuer, issuerName: "", subject: subject, tokenUse: .access,
            clientID: sealed.clientID, expires: 0, issuedAt: signedInAt, claims: access, keyID: "")
        let isRevoked = isRevoked(token)
        guard isRevoked || sealed.hasExpired(at: now()) else { return sealed }
        try await revokeAtCognito(result.refreshToken ?? standIn.refreshToken, of: sealed.clientID, request)
        throw .credentialsRefused(
            .tokenRefresh, reason: .account(isRevoked ? .sessionEnded : .expiredRefreshToken))
    }
}

extension CognitoError {
    /// Whether the refresh token may belong to another client.
    fileprivate var isOfOtherClient: Bool {
        ExactText(type) == "UnauthorizedException"
            || [.badCredentials, .tokenRevoked, .invalidParameter].contains(kind)
    }
}
