internal import Cognito
internal import Cryptography
internal import Encoding
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// The exchange of refresh tokens.
extension CognitoAccounts {
    /// Exchanges a token for new ones.
    ///
    /// - Parameter deviceID: as in ``RefreshSessions/standing(of:on:)``.
    func exchange(
        _ sealed: SealedRefreshToken, on deviceID: String?, metadata: JSON? = nil, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        try await inTurn(sealed, on: deviceID, request) { (current, mayBegin) async throws(Refusal) in
            let refresher = try refresher(for: current)
            let result: AuthenticationResult
            do throws(CognitoError) {
                result = try await refresher.tokens(for: current.provided, metadata: metadata)
            } catch {
                return try await otherwise(error, sealed, on: deviceID, request)
            }
            try await checkRevocations(result, current, request)
            return try await keep(result, current, on: deviceID, mayBegin: mayBegin, request)
        }
    }

    /// Revokes the new tokens of a session that is on the revocation list.
    ///
    /// - Throws: 401 for such a session.
    func checkRevocations(
        _ result: AuthenticationResult, _ sealed: SealedRefreshToken, _ request: AccountRequest
    ) async throws(Refusal) {
        guard isOnRevocationList(result.accessClaims) else { return }
        // The access tokens would be refused.
        try? await revokeAtCognito(result.refreshToken ?? sealed.refreshToken, of: sealed.clientID, request)
        throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
    }

    /// Decides on a token by its standing.
    ///
    /// - Returns: the response to its earlier exchange; nil if it is still to be exchanged.
    /// - Throws: 401 if the session has ended, or ends because the token was reused.
    func judge(
        _ standing: RefreshStanding, _ sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession? {
        switch standing {
        case .current: return nil
        case .parent(let successor): return try await again(successor, for: sealed, on: deviceID, request)
        case .ended: throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
        case .sealedElsewhere: throw sealedElsewhere(request)
        case .reused:
            try await endReused(sealed, request)
            throw .credentialsRefused(.tokenRefresh, reason: .account(.refreshTokenReused))
        }
    }

    /// As ``RefreshSessions/current(_:in:)``. With an older token, Cognito would detect a reuse and end the session.
    ///
    /// - Throws: 503 if another gateway has sealed the newest token with a key that this one does not have yet.
    func current(
        _ sealed: SealedRefreshToken, in record: SessionRecord?, _ request: AccountRequest
    ) throws(Refusal) -> SealedRefreshToken {
        guard let current = sessions.current(sealed, in: record) else { throw sealedElsewhere(request) }
        return current
    }

    private func sealedElsewhere(_ request: AccountRequest) -> Refusal {
        logger.warning(
            "a session was refreshed with a sealing key that is not known here; reload this gateway",
            metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        return .recordsUnavailable
    }

    /// Handles Cognito's refusal of a token. With rotation, Cognito also refuses a token that was exchanged elsewhere
    /// in the meantime, and then the response to that exchange is known.
    func otherwise(
        _ error: CognitoError, _ sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        let refusal = refusal(of: error, at: .refresh, request)
        guard refusal.error == .tokenRefresh else { throw refusal }
        let standing = try await withRecords(request) { try await sessions.standing(of: sealed, on: deviceID) }
        if case .parent(let successor) = standing, let answer = successor.answer { return answer }
        if case .sealedElsewhere = standing { throw sealedElsewhere(request) }
        if error.kind == .tokenReused { try await endReused(sealed, request) }
        throw refusal
    }

    /// Stores the result of a refresh. A rotated token replaces the old one with the same expiry: Cognito too gives it
    /// only the rest of the original's lifetime. It is stored before the client gets it.
    ///
    /// - Parameters:
    ///   - device: for a session that begins with this token.
    ///   - deviceID: as in ``RefreshSessions/standing(of:on:)``.
    ///   - mayBegin: as in ``RefreshSessions/advance(to:_:begunOn:on:mayBegin:)``.
    func keep(
        _ result: AuthenticationResult, _ sealed: SealedRefreshToken, begunOn device: DeviceInfo? = nil,
        on deviceID: String?, mayBegin: Bool, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        var next = sealed
        next.refreshToken = result.refreshToken ?? sealed.refreshToken
        next.generation += 1
        var session = try refreshed(result, next, request)
        let standing: RefreshStanding
        do {
            standing = try await sessions.advance(
                to: next, session, begunOn: device, on: deviceID, mayBegin: mayBegin)
        } catch {
            // Cognito may have revoked the old token already. The client gets the new one, whose generation number lets
            // the records catch up later.
            logger.error(
                "a refresh could not be recorded",
                metadata: ["request_id": "\(request.requestID)", "error": "\(error)"])
            session.isStored = false
            return session
        }
        guard case .current = standing else { return try await lost(standing, next, on: deviceID, request) }
        tokenCheck?.note(result.accessToken)
        return session
    }

    /// Returns Cognito's tokens in the form for the client.
    ///
    /// - Parameter next: the client's next token.
    func refreshed(
        _ result: AuthenticationResult, _ next: SealedRefreshToken, _ request: AccountRequest
    ) throws(Refusal) -> RefreshedSession {
        guard let access = result.accessClaims else { throw unusable("UnreadableTokens", request) }
        let text = try sealing(request) { () throws(SealingFailure) in
            try next.sealed(with: sealingKeys, poolID: settings.poolID)
        }
        return RefreshedSession(
            refreshToken: text, accessToken: result.accessToken, idToken: result.idToken,
            scope: access["scope"]?.stringValue, subject: next.subject, accessExpiresAt: now() + result.expiresIn)
    }

    /// Handles a session that was ended or advanced by another process during the call to Cognito: the call's result is
    /// not needed.
    private func lost(
        _ standing: RefreshStanding, _ next: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        if case .ended = standing {
            try await revokeAtCognito(next.refreshToken, of: next.clientID, request)
        }
        var before = next
        before.generation -= 1
        guard let session = try await judge(standing, before, on: deviceID, request) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
        }
        return session
    }

    /// Ends the session of a reused token. RFC 9700, 4.14.2: the thief and the user cannot be told apart, so the
    /// session ends for both.
    private func endReused(_ sealed: SealedRefreshToken, _ request: AccountRequest) async throws(Refusal) {
        try await UnawaitedReuse.refuse(requestID: request.requestID, logger)
        let ended = try await withRecords(request) { try await sessions.end(family: sealed.family, originIDs: []) }
        let origins = Set((ended.map(\.originID) + [sealed.originID]).compactMap { $0 })
        logger.warning(
            "a refresh token was used again: its session has been ended",
            metadata: ["request_id": "\(request.requestID)", "pool_id": "\(settings.poolID)"])
        // A stand-in for one of Cognito's own tokens has neither.
        let (subject, time) = (ended.first?.subject ?? sealed.subject, ended.first?.signedInAt ?? sealed.issuedAt)
        let targets = targets(for: origins, of: subject, signedInUntil: time)
        try await both { () async throws(Refusal) in
            try await revoke(targets, request)
        } then: { () async throws(Refusal) in
            for session in ended {
                try await revokeAtCognito(session.refreshToken, of: session.clientID, request)
            }
        }
    }
}
