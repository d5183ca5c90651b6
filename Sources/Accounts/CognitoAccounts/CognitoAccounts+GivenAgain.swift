internal import Cognito
internal import Cryptography
internal import Logging
internal import Pipeline
internal import Sealing
internal import Store

/// Answers that were lost: whoever shows a token whose successor was never used has that successor once more.
///
/// The session stays where it is. Its newest token keeps its number, so that all who have it have the same, whichever
/// refresh token of the provider's is in theirs (``RefreshSessions/current(_:in:)``).
extension CognitoAccounts {
    /// Gives the answer that is stored. Where that is gone, or its access token has expired, Cognito is asked for
    /// another one with the unused token. One caller does so at a time, over all gateways.
    ///
    /// - Parameters:
    ///   - sealed: the token that is shown.
    ///   - deviceID: as in ``RefreshSessions/standing(of:on:)``.
    func again(
        _ successor: UnusedSuccessor, for sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        if let answer = successor.answer { return answer }
        switch try await turn(successor.token.family, successor.token.generation, request) {
        case .own(let lease, let record):
            return try await holding(lease) { () async throws(Refusal) in
                // A session that is stored no more has no user any more either.
                guard let record else {
                    throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
                }
                // Somebody may have asked since it was read.
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
        // Sealed anew only where something else is in it.
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

    /// Cognito has answered, and the records cannot be written. Where it has rotated its token, the client gets the new
    /// one under the next number, which tells it from the one that is stored.
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

    /// As ``judge(_:_:on:_:)`` for a token that was exchanged before.
    private func settled(
        _ standing: RefreshStanding, _ sealed: SealedRefreshToken, on deviceID: String?, _ request: AccountRequest
    ) async throws(Refusal) -> RefreshedSession {
        guard let session = try await judge(standing, sealed, on: deviceID, request) else {
            throw .credentialsRefused(.tokenRefresh, reason: .account(.sessionEnded))
        }
        return session
    }
}
