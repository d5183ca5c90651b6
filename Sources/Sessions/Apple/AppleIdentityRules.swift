internal import Cryptography
internal import Encoding
internal import Pipeline

/// The rules for Apple's identity tokens in addition to those for all tokens: issued for this sign-in, recently,
/// together with this authorization code. Pure: the token's signature and times have been verified already.
struct AppleIdentityRules: Sendable {
    /// The app's proof that the token was issued for this sign-in.
    struct Proof: Sendable {
        /// The nonce whose SHA-256 the app passed to Apple.
        var nonce: Secret
        var authorizationCode: Secret?
        /// The user id claimed by the app, which proves nothing.
        var userIdentifier: String?

        init(nonce: Secret, authorizationCode: Secret? = nil, userIdentifier: String? = nil) {
            self.nonce = nonce
            self.authorizationCode = authorizationCode
            self.userIdentifier = userIdentifier
        }
    }

    /// The users' role for each app, by its bundle or services id; empty if there are no roles.
    var roles: [String: String]
    /// The maximum age of a token, in seconds. Apple's are valid for a day, which gives a thief too much time.
    var maximumAge: Int64
    /// The tolerated difference from Apple's clock, in seconds.
    var skew: Int64

    init(roles: [String: String], maximumAge: Int64 = 600, skew: Int64 = 60) {
        self.roles = roles
        self.maximumAge = maximumAge
        self.skew = skew
    }

    /// Returns the identity of the token's user.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Throws: a 401 that does not reveal the violated rule.
    func identity(
        of token: VerifiedToken, shownWith proof: Proof, now: Int64
    ) throws(Refusal) -> AppleIdentity {
        do throws(AppleSignInError) {
            try checkNonce(token.claims["nonce"], proof.nonce)
            try checkAge(token.issuedAt, now)
            try checkCode(token.claims["c_hash"], proof.authorizationCode)
            if let named = proof.userIdentifier, !named.hasSameBytes(as: token.subject) {
                throw AppleSignInError.userIdentifierMismatch
            }
        } catch {
            throw error.refusal
        }
        let role = role(ofAudience: token.clientID)
        guard role != nil || roles.isEmpty else {
            throw AppleSignInError.refusal(reason: .token(.audienceNotAllowed))
        }
        return Self.identity(of: token, role: role, now: now)
    }

    /// Compared by bytes: ids that only look alike belong to other apps (RFC 8725, 3.9).
    private func role(ofAudience audience: String) -> String? {
        roles.first { $0.key.hasSameBytes(as: audience) }?.value
    }

    /// Apps pass the SHA-256 of a nonce to Apple and present the nonce itself here. A thief of the token has only the
    /// hash, so the claim itself must never be accepted as the nonce.
    private func checkNonce(_ claim: JSON?, _ nonce: Secret) throws(AppleSignInError) {
        guard let claim = claim?.stringValue else { throw .nonceMissing }
        let expected = Hexadecimal.encode(SHA256.hash(nonce.expose()))
        guard !nonce.isEmpty, constantTimeEquals(Array(claim.utf8), Array(expected.utf8)) else { throw .nonceMismatch }
    }

    private func checkAge(_ issuedAt: Int64?, _ now: Int64) throws(AppleSignInError) {
        guard let issuedAt, issuedAt >= now - maximumAge else { throw .identityTokenTooOld }
        guard issuedAt <= now + skew else { throw .issuedInFuture }
    }

    /// The left half of the code's SHA-256 (OpenID Connect Core 1.0, 3.3.2.11).
    private func checkCode(_ claim: JSON?, _ code: Secret?) throws(AppleSignInError) {
        guard let code, let claim else { return }
        let expected = Base64URL.encode(Array(SHA256.hash(code.expose()).prefix(16)))
        guard let claim = claim.stringValue, constantTimeEquals(Array(claim.utf8), Array(expected.utf8)) else {
            throw .authorizationCodeMismatch
        }
    }

    private static func identity(of token: VerifiedToken, role: String?, now: Int64) -> AppleIdentity {
        let email = token.emailVerified == true ? AppleEmail.address(token.claims["email"]) : nil
        return AppleIdentity(
            issuer: token.issuer, subject: token.subject, audience: token.clientID, role: role, email: email,
            isPrivateEmail: email == nil ? nil : token.claims["is_private_email"]?.flagValue,
            realUserStatus: token.claims["real_user_status"]?.integerValue.flatMap(
                AppleIdentity.RealUserStatus.init(rawValue:)),
            expires: token.expires, issuedAt: token.issuedAt ?? now)
    }
}
