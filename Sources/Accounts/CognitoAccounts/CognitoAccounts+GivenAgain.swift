internal import Cognito
internal import Cryptography
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Recovery of lost refresh responses: a token whose successor was never used returns that successor again.
///
/// The session does not advance. Its newest token keeps its generation number, so that all clients that have it have an
/// equivalent one, whichever refresh token of the provider theirs contains (``RefreshSessions/current(_:in:)``).
extension CognitoAccounts {
    /// Returns the stored response. If it is gone, or its access token has expired, the unused token is exchanged at
    /// Cognito again. Only one caller does so at a time, across all gateways.
    ///
    /// - Parameters:
    ///   - sealed: the client's token.
    ///   - deviceID: as in ``RefreshSessions/standing(of:on:)``.
    func again(
        _ successor: UnusedSuccessor, for sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        if let answer = successor.answer { return answer }
        switch try await turn(successor.token.family, successor.token.generation, request) {
        case .own(let lease, let record):
            return try await holding(lease) { () async throws(Refusal) in
                // A session without a record no longer has a user either.
                guard let record else {
                    throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
                }
                // Another caller may have exchanged the token since the record was read.
                let standing = sessions.standing(of: sealed.generation, on: deviceID, in: record)
                guard case .parent(let successor) = standing else {
                    return try await settled(standing, sealed, on: deviceID, request)
                }
                if let answer = successor.answer { return answer }
                return try await renewed(successor, for: sealed, on: deviceID, request)
            }
        case .past(let record):
            // The successor was used, or the session has ended.
            let standing = sessions.standing(of: sealed.generation, on: deviceID, in: record)
            return try await settled(standing, sealed, on: deviceID, request)
        case .others: throw refreshUnderWay(request)
        }
    }

    private func renewed(
        _ successor: UnusedSuccessor, for sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        let refresher = try refresher(for: successor.token)
        let result: AuthenticationResult
        do throws(CognitoError) {
            result = try await refresher.tokens(for: successor.token.provided, metadata: nil)
        } catch {
            return try await otherwise(error, sealed, on: deviceID, request)
        }
        try await checkRevocations(result, successor.token, request)
        var token = successor.token
        token.refreshToken = result.refreshToken ?? token.refreshToken
        var session = try refreshed(result, token, request)
        // Sealed again only if Cognito has rotated the token inside.
        if result.refreshToken == nil { session.refreshToken = Secret(successor.record.token) }
        session.isGivenAgain = true
        let standing: RefreshStanding
        do {
            standing = try await sessions.renew(successor, as: session, on: deviceID)
        } catch {
            return try unrecorded(session, result, token, error, request)
        }
        guard case .current = standing else { return try await settled(standing, sealed, on: deviceID, request) }
        return session
    }

    /// Returns the session after Cognito has responded and the records cannot be written. If Cognito has rotated its
    /// token, the client gets the new one under the next generation number, which distinguishes it from the stored one.
    private func unrecorded(
        _ session: RefreshedSession, _ result: AuthenticationResult, _ token: SealedRefreshToken, _ error: any Error,
        _ request: AccountRequest
    ) throws(Refusal) -> RefreshedSession {
        logger.error(
            "a refresh could not be recorded",
            metadata: ["request_id": "\(request.requestID)", "error": "\(error)"])
        var session = session
        if result.refreshToken != nil {
            var next = token
            next.generation += 1
            session = try refreshed(result, next, request)
            session.isGivenAgain = true
        }
        session.isStored = false
        return session
    }

    /// As ``judge(_:_:on:_:)``, for a token that was exchanged before.
    ///
    /// - Throws: 401 if it could still be exchanged.
    private func settled(
        _ standing: RefreshStanding, _ sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        guard let session = try await judge(standing, sealed, on: deviceID, request) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
        }
        return session
    }
}
