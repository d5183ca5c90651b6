internal import Cryptography
internal import HTTPTypes
internal import Pipeline

/// What a refresh gives to everyone who waits for it.
struct RefreshedSession: Sendable {
    var result: AuthenticationResult
    var refreshToken: Secret
    var scope: JSON?
    var subject: String?
}

extension CognitoAccounts {
    /// `POST refresh`: opens the sealed token and exchanges what is in it.
    ///
    /// Whatever is wrong with the token, the client gets the same answer; the access log has the reason.
    func refresh(_ request: AccountRequest) async throws(Refusal) -> AccountAnswer {
        let text = try RefreshBody(request.jsonObject()).refreshToken
        let sealed = try open(text)
        let outcome = await flights.outcome(for: SHA256.hash(text.expose())) {
            await exchange(sealed, request)
        }
        let session = try outcome.get()
        var answer: JSONObject = [:]
        answer.addTokens(
            session.result, refreshToken: session.refreshToken, scope: session.scope,
            withIDToken: settings.returnIDToken)
        return AccountAnswer(.ok, answer, subject: session.subject)
    }

    private func open(_ text: Secret) throws(Refusal) -> SealedRefreshToken {
        guard
            let sealed = try? SealedRefreshToken(
                opening: text, with: settings.sealingKeys, poolID: settings.poolID),
            sealed.clientID == settings.clientID
        else { throw .tokenInvalid(.tokenRefresh, reason: "invalid-refresh-token") }
        guard !sealed.hasExpired(at: now()) else { throw .tokenInvalid(.tokenRefresh, reason: "expired-refresh-token") }
        return sealed
    }

    private func exchange(
        _ sealed: SealedRefreshToken, _ request: AccountRequest
    ) async -> Result<RefreshedSession, Refusal> {
        do throws(CognitoError) {
            let result = try await refresher.tokens(for: sealed)
            return reseal(sealed, result, request)
        } catch {
            report(error, request)
            return .failure(AccountRefusals.refresh(error.kind))
        }
    }

    /// A rotated token takes the old one's place and its end: Cognito too lets it live only for the rest of the
    /// original's life.
    private func reseal(
        _ sealed: SealedRefreshToken, _ result: AuthenticationResult, _ request: AccountRequest
    ) -> Result<RefreshedSession, Refusal> {
        guard let access = result.accessClaims else { return .failure(unusable("UnreadableTokens", request)) }
        var next = sealed
        next.refreshToken = result.refreshToken ?? sealed.refreshToken
        do throws(Refusal) {
            return .success(
                RefreshedSession(
                    result: result, refreshToken: try seal(next, request), scope: access["scope"],
                    subject: access["sub"]?.stringValue))
        } catch {
            return .failure(error)
        }
    }
}
