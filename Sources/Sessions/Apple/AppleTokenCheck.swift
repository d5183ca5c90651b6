internal import Cryptography
internal import Encoding
package import Pipeline

/// The keys of the issuer of identity tokens, as the pipeline keeps them.
package protocol IssuerKeys: Sendable {
    /// The keys that verify now; nil while there are none.
    var currentSet: KeySet? { get }
    /// A key is wanted that the set lacks. Returns when it has been looked for, as often as that may be done.
    func findKey(_ keyID: String) async
}

/// Verifies what Apple signs, by the same rules and keys as the pipeline verifies tokens of requests.
struct AppleTokenCheck: Sendable {
    let issuer: Issuer
    let keys: any IssuerKeys
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    private static let unavailable = Refusal.retryLater(
        .identityProviderUnavailable, after: 5, reason: .request(.keysUnavailable))

    /// - Throws: 401 for what is no identity token of Apple's for one of the apps, 503 while there are no keys.
    func identityToken(_ text: Secret) async throws(Refusal) -> VerifiedToken {
        let token = text.expose()
        var verdict = verify(token)
        if case .needsKeys(_, let keyID) = verdict {
            await keys.findKey(keyID)
            verdict = verify(token)
        }
        switch verdict {
        case .verified(let token): return token
        case .rejected(let reason): throw AppleSignInError.refusal(reason: .token(reason))
        case .needsKeys:
            guard keys.currentSet != nil else { throw Self.unavailable }
            throw AppleSignInError.refusal(reason: .token(.unknownKey))
        }
    }

    private func verify(_ token: [UInt8]) -> Verdict {
        let set = keys.currentSet
        return TokenVerifier(issuers: [issuer], maximumTokenBytes: token.count).verify(
            token, accepting: TokenAcceptance(tokenUses: [.id]), keys: { _ in set }, now: now())
    }

    /// The payload of a JWS of Apple's that is no token.
    ///
    /// - Throws: as ``identityToken(_:)``.
    func payload(_ text: Secret) async throws(Refusal) -> [UInt8] {
        let jws = text.expose()
        guard let keyID = UnverifiedToken(jws)?.header["kid"]?.stringValue else {
            throw AppleSignInError.refusal(reason: .token(.malformedToken))
        }
        if keys.currentSet?.holds(id: keyID) != true { await keys.findKey(keyID) }
        guard let set = keys.currentSet else { throw Self.unavailable }
        do throws(RejectReason) {
            return try SignatureCheck(keySet: set, algorithms: issuer.algorithms).verify(jws).payload
        } catch {
            throw AppleSignInError.refusal(reason: .token(error))
        }
    }
}
