internal import Cryptography
internal import Encoding
package import Pipeline

/// The keys of the identity tokens' issuer, as loaded by the pipeline.
package protocol IssuerKeys: Sendable {
    /// The current verification keys; nil if there are none yet.
    var currentSet: KeySet? { get }
    /// Requests a key that is missing from the set. Returns after the lookup, which is rate-limited.
    func findKey(_ keyID: String) async
}

/// Verifies Apple's signatures with the same rules and keys as the pipeline uses for requests' tokens.
struct AppleTokenCheck: Sendable {
    let issuer: Issuer
    let keys: any IssuerKeys
    /// Seconds since 1970.
    let now: @Sendable () -> Int64

    private static let unavailable = Refusal.retryLater(
        .identityProviderUnavailable, after: 5, reason: .request(.keysUnavailable))

    /// - Throws: 401 if the text is not an identity token of Apple's for one of the apps, 503 if there are no keys.
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

    /// The payload of a JWS from Apple that is not a token.
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
