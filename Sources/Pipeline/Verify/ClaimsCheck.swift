/// The claims of a token whose signature is right, against what its issuer's profile demands (RFC 7519, 4.1).
struct ClaimsCheck {
    let issuer: Issuer
    let accepting: TokenAcceptance
    let now: Int64

    private static let maximumSubjectBytes = 255

    /// The token these claims make. `expired` is thrown only when nothing else is wrong, because it alone is told to
    /// the client.
    func verified(_ claims: JSONObject, keyID: String) throws(RejectReason) -> VerifiedToken {
        guard let expires = claims["exp"]?.numberValue?.numericDate else { throw .expiryInvalid }
        let issuedAt = try requirePast(claims)
        let subject = try subject(claims)
        let (tokenUse, clientID) = try cognitoUse(claims)
        guard now < expires + issuer.skew else { throw .expired }
        return VerifiedToken(
            issuer: issuer.issuer, issuerName: issuer.name, subject: subject, tokenUse: tokenUse, clientID: clientID,
            username: claims[tokenUse == .access ? "username" : "cognito:username"]?.stringValue,
            email: claims["email"]?.stringValue,
            emailVerified: Self.flag(claims["email_verified"]),
            groups: claims["cognito:groups"]?.arrayValue?.compactMap(\.stringValue) ?? [],
            scopes: claims["scope"]?.stringValue?.words ?? [],
            expires: expires, issuedAt: issuedAt, claims: claims, keyID: keyID)
    }

    /// `nbf` and `iat` may be missing; where they are, they must not lie in the future.
    private func requirePast(_ claims: JSONObject) throws(RejectReason) -> Int64? {
        if let notBefore = claims["nbf"] {
            guard let seconds = notBefore.numberValue?.numericDate else { throw .notBeforeInvalid }
            guard seconds <= now + issuer.skew else { throw .notYetValid }
        }
        guard let issuedAt = claims["iat"] else { return nil }
        guard let seconds = issuedAt.numberValue?.numericDate else { throw .issuedAtInvalid }
        guard seconds <= now + issuer.skew else { throw .issuedInFuture }
        return seconds
    }

    private func subject(_ claims: JSONObject) throws(RejectReason) -> String {
        guard let subject = claims["sub"]?.stringValue, (1...Self.maximumSubjectBytes).contains(subject.utf8.count)
        else { throw .subjectInvalid }
        return subject
    }

    /// The kind of token and the app client it was made for.
    private func cognitoUse(_ claims: JSONObject) throws(RejectReason) -> (TokenUse, clientID: String) {
        guard case .cognito(let clientIDs, let tokenUses) = issuer.profile else { throw .tokenUseInvalid }
        guard let name = claims["token_use"]?.stringValue,
            let use = TokenUse.allCases.first(where: { $0.rawValue.hasSameBytes(as: name) })
        else { throw .tokenUseInvalid }
        guard tokenUses.contains(use), accepting.accepts(use) else { throw .tokenUseNotAccepted }
        switch use {
        case .access:
            // An access token's `aud` is a resource server's, if any: it says nothing about the client.
            guard let clientID = claims["client_id"]?.stringValue, clientIDs.containsBytes(of: clientID) else {
                throw .clientNotAllowed
            }
            return (use, clientID)
        case .id:
            guard let clientID = Self.audiences(claims["aud"]).first(where: clientIDs.containsBytes) else {
                throw .audienceNotAllowed
            }
            return (use, clientID)
        }
    }

    /// One string or an array of nothing but strings (RFC 7519, 4.1.3); none for anything else.
    private static func audiences(_ claim: JSON?) -> [String] {
        switch claim {
        case .string(let audience): return [audience]
        case .array(let elements):
            let audiences = elements.compactMap(\.stringValue)
            return audiences.count == elements.count ? audiences : []
        default: return []
        }
    }

    /// A boolean, which some issuers write as a string.
    private static func flag(_ claim: JSON?) -> Bool? {
        switch claim {
        case .bool(let value): value
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }
}

extension Set<String> {
    /// Whether one of the elements is the same bytes; `contains` would also take canonically equivalent text.
    fileprivate func containsBytes(of text: String) -> Bool {
        contains { $0.hasSameBytes(as: text) }
    }
}
