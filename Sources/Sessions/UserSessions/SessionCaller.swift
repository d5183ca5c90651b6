internal import Accounts
internal import Cryptography
internal import Encoding
internal import Keys
internal import Pipeline

/// A caller with one of the gateway's own sessions.
struct SessionCaller: Sendable {
    var userID: String
    /// The `sid`.
    var sessionID: String
    /// The number of the token in its session.
    var rotation: Int64
    /// Seconds since 1970, as for `issuedAt`.
    var expiresAt: Int64
    var issuedAt: Int64?
    var session: CalledSession?

    /// - Throws: 401 for a token of another gateway's session, which lacks the required claims.
    init(_ token: VerifiedToken) throws(Refusal) {
        guard let sessionID = token.claims["sid"]?.stringValue,
            let rotation = token.claims[RevocationList.rotationClaim]?.integerValue,
            // The next number must be representable.
            (0..<Int64.max).contains(rotation)
        else { throw .tokenInvalid(reason: .account(.notASession)) }
        userID = token.subject
        self.sessionID = sessionID
        self.rotation = rotation
        expiresAt = token.expires
        issuedAt = token.issuedAt
        session = CalledSession(token)
    }
}

extension UserSessions {
    /// Checks a token that may have expired, as long as it can still be refreshed; all other rules apply. Whether
    /// another token has replaced it is not checked.
    ///
    /// A token issued in the future may be from before this clock was set back. The session's record decides.
    func judge(_ bearer: Secret?) throws(Refusal) -> SessionCaller {
        guard let bearer else { throw .tokenMissing() }
        let token: VerifiedToken
        switch verdict(bearer) {
        case .verified(let verified): token = verified
        case .rejected(.expired): throw .tokenInvalid(.tokenRefresh, reason: .account(.expiredRefreshToken))
        case .rejected(let reason): throw .tokenInvalid(reason: .token(reason))
        case .needsKeys:
            guard keys.keySet != nil else {
                throw .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionKeysUnavailable))
            }
            throw .tokenInvalid(reason: .token(.unknownKey))
        }
        guard !revocations.current.isTooOld else { throw .revocationsUnavailable }
        guard !isRevoked(token) else { throw .tokenInvalid(.tokenRefresh, reason: .token(.revoked)) }
        return try SessionCaller(token)
    }

    private func isRevoked(_ token: VerifiedToken) -> Bool {
        // For a sign-in in the future, it is unknown whether it was before a revocation of the user.
        var present = token
        present.issuedAt = token.issuedAt.map { min($0, now() + issuer.skew) }
        return revocations.current.isRevoked(present)
    }

    /// As ``judge(_:)``, for a sign-out: nil if the token is revoked, or too old to be refreshed. In the latter case the
    /// session may still be open.
    func judgeLeaving(_ bearer: Secret?) throws(Refusal) -> SessionCaller? {
        do throws(Refusal) {
            return try judge(bearer)
        } catch {
            guard error.error == .tokenRefresh else { throw error }
            return nil
        }
    }

    /// The caller of a token that could be refreshed if it were not revoked; nil for any other token.
    func revokedCaller(_ bearer: Secret?) -> SessionCaller? {
        guard let bearer, case .verified(let token) = verdict(bearer), isRevoked(token) else { return nil }
        return try? SessionCaller(token)
    }

    /// The session of a token, however long ago it ended; nil if the text was never a session token.
    func called(by bearer: Secret?) -> CalledSession? {
        guard let bearer, case .verified(let token) = verdict(bearer, grace: Int64(Int32.max)) else { return nil }
        return CalledSession(token)
    }

    /// The caller of a token, however long ago it expired; nil if the text was never a session token.
    func caller(of token: Secret) -> SessionCaller? {
        guard case .verified(let token) = verdict(token, grace: Int64(Int32.max)) else { return nil }
        return try? SessionCaller(token)
    }

    private func verdict(_ bearer: Secret) -> Verdict { verdict(bearer, grace: settings.refreshWithin) }

    /// - Parameter grace: accepted seconds after the token's expiry.
    private func verdict(_ bearer: Secret, grace: Int64) -> Verdict {
        var issuer = self.issuer
        issuer.grace = grace
        issuer.allowsFutureIssue = true
        let set = keys.keySet
        return TokenVerifier(issuers: [issuer]).verify(
            bearer.expose(), accepting: TokenAcceptance(tokenUses: [.session]), keys: { _ in set }, now: now())
    }
}
