internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
package import Logging
package import Pipeline
package import Sealing
package import Store

/// Sign in with Apple: identity tokens, the gateway's nonces, and Apple's notifications.
package struct AppleSignIn: Sendable {
    /// The issuer of the identity tokens: Apple.
    let issuer: Issuer
    package let settings: AppleSignInSettings
    let rules: AppleIdentityRules
    /// The maximum size of an identity token in bytes.
    let maximumTokenBytes: Int
    let check: AppleTokenCheck
    let spent: any SingleUseRecords
    /// Nil if the gateway does not call Apple.
    package let grants: AppleGrants?
    /// Seals nonces.
    let sealingKeys: SealingKeyRing
    let now: @Sendable () -> Int64
    let random: @Sendable (Int) -> [UInt8]
    let logger: Logger

    /// - Parameters:
    ///   - keys: the keys of the identity tokens' issuer.
    ///   - spent: records of used tokens and nonces.
    ///   - now: seconds since 1970.
    ///   - random: returns the requested number of random bytes from a cryptographic source.
    package init(
        issuer: Issuer, settings: AppleSignInSettings,
        maximumTokenBytes: Int = TokenVerifier.defaultMaximumTokenBytes, keys: any IssuerKeys,
        spent: any SingleUseRecords, grants: AppleGrants?, sealingKeys: SealingKeyRing,
        now: @escaping @Sendable () -> Int64, random: @escaping @Sendable (Int) -> [UInt8], logger: Logger
    ) {
        self.issuer = issuer
        self.settings = settings
        self.rules = AppleIdentityRules(
            roles: settings.roles, maximumAge: settings.maximumTokenAge, skew: issuer.skew)
        self.maximumTokenBytes = maximumTokenBytes
        self.check = AppleTokenCheck(issuer: issuer, keys: keys, now: now)
        self.spent = spent
        self.grants = grants
        self.sealingKeys = sealingKeys
        self.now = now
        self.random = random
        self.logger = logger
    }

    /// A sign-in with a valid identity token. Nothing is used up yet.
    struct Proven: Sendable {
        var token: VerifiedToken
        var identity: AppleIdentity
        var proof: UserSignIn.Proof
    }

    /// - Throws: 401 if the identity token or the nonce is not valid.
    func prove(_ body: AppleSignInBody, _ call: inout AccountCall) async throws(Refusal) -> Proven {
        let token = try await check.identityToken(body.identityToken)
        let identity = try rules.identity(
            of: token,
            shownWith: AppleIdentityRules.Proof(
                nonce: body.nonce, authorizationCode: body.authorizationCode, userIdentifier: body.userIdentifier),
            now: now())
        call.realUserStatus = identity.realUserStatus?.name
        var proof = UserSignIn.Proof(
            digest: SHA256.hash(body.identityToken.expose()), endsAt: identity.expires + issuer.skew)
        if let nonce = try serverNonce(in: body.nonce) {
            proof.nonce = UserSignIn.Spent(digest: nonce.digest, endsAt: nonce.expiresAt)
        }
        return Proven(token: token, identity: identity, proof: proof)
    }

    /// The gateway's nonce of the sign-in; nil for a nonce of the app's own, if that is allowed.
    private func serverNonce(in text: Secret) throws(Refusal) -> AppleNonce? {
        guard settings.serverNonce != .off else { return nil }
        guard let nonce = try? AppleNonce(opening: text, with: sealingKeys, issuer: issuer.issuer) else {
            guard settings.serverNonce == .optional else { throw AppleSignInError.nonceUnknown.refusal }
            return nil
        }
        guard nonce.expiresAt > now() else { throw AppleSignInError.nonceExpired.refusal }
        return nonce
    }

    /// Creates a nonce for one sign-in.
    func makeNonce(requestID: String) throws(Refusal) -> Secret {
        do {
            return try AppleNonce(expiresAt: now() + settings.serverNonceLifetime, random: random(16))
                .sealed(with: sealingKeys, issuer: issuer.issuer)
        } catch {
            logger.error("a nonce could not be sealed", metadata: ["request_id": "\(requestID)"])
            throw Refusal(.internalFailure, reason: .account(.sealingFailed))
        }
    }

    /// Runs `work` on the records.
    func withRecords<Value>(
        _ request: AccountRequest, _ work: () async throws -> Value
    ) async throws(Refusal) -> Value {
        try await usingRecords(request.requestID, logger, work)
    }
}
