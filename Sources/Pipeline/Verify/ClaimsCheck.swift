internal import Cryptography
internal import Encoding

/// The check of a token's claims against its issuer's profile, after the signature was verified (RFC 7519, 4.1).
struct ClaimsCheck {
    let issuer: Issuer
    let accepting: TokenAcceptance
    let now: Int64

    private static let maximumSubjectBytes = 255

    /// The token with these claims. `expired` is thrown only if nothing else is wrong, because the client learns of
    /// expiry alone.
    ///
    /// - Parameters:
    ///   - key: the key that signed it, from the key set of this generation.
    ///   - index: the issuer's index in ``TokenVerifier/issuers``.
    func verified(
        _ claims: JSONObject, keyID: String, by key: VerificationKey, generation: UInt64, issuerIndex index: Int
    ) throws(RejectReason) -> VerifiedToken {
        guard let expires = claims["exp"]?.numberValue?.numericDate else { throw .expiryInvalid }
        let issuedAt = try requirePast(claims)
        let subject = try subject(claims)
        let (tokenUse, clientID) = try kind(of: claims)
        guard now < expires + issuer.skew + issuer.grace else { throw .expired }
        return VerifiedToken(
            of: issuer, subject: subject, tokenUse: tokenUse, clientID: clientID,
            user: UserClaims(issuer.profile, tokenUse), expires: expires, issuedAt: issuedAt, claims: plain(claims),
            keyID: keyID,
            proof: TokenProof(
                issuerIndex: index, key: key, generation: generation,
                endsAt: expires + issuer.skew + issuer.grace))
    }

    /// `nbf` and `iat` are optional; if present, they must not lie in the future.
    private func requirePast(_ claims: JSONObject) throws(RejectReason) -> Int64? {
        if let notBefore = claims["nbf"] {
            guard let seconds = notBefore.numberValue?.numericDate else { throw .notBeforeInvalid }
            guard seconds <= now + issuer.skew else { throw .notYetValid }
        }
        guard let issuedAt = claims["iat"] else { return nil }
        guard let seconds = issuedAt.numberValue?.numericDate else { throw .issuedAtInvalid }
        guard seconds <= now + issuer.skew || issuer.allowsFutureIssue else { throw .issuedInFuture }
        return seconds
    }

    private func subject(_ claims: JSONObject) throws(RejectReason) -> String {
        guard let subject = claims["sub"]?.stringValue, (1...Self.maximumSubjectBytes).contains(subject.utf8.count)
        else { throw .subjectInvalid }
        return subject
    }
}
