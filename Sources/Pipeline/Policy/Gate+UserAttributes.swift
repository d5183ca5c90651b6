internal import Cryptography
internal import Encoding
internal import HTTPTypes

/// The attributes of users, which are read once for each access token and cached with it.
extension Gate {
    enum Completion {
        case entry(TokenCache.Entry)
        case needed(UserAttributeQuestion)
        case refuse(Refusal)
    }

    /// Whether a token's user has attributes that are still to be read.
    func lacksAttributes(_ token: VerifiedToken) -> Bool {
        guard let userAttributes, token.tokenUse == .access else { return false }
        return token.issuerName.hasSameBytes(as: userAttributes.issuer)
    }

    /// A token's entry with the attributes of its user.
    ///
    /// - Parameters:
    ///   - value: the field that the token came in, behind `prefix` bytes.
    ///   - entry: lacks them.
    func complete(
        _ value: String, _ prefix: Int, _ entry: TokenCache.Entry, _ cache: TokenCache, _ context: RequestContext
    ) -> Completion {
        guard let rule = userAttributes else { return .entry(entry) }
        // Cognito would refuse it, and not for what the token is.
        guard entry.token.scopes.contains(where: { $0.hasSameBytes(as: UserAttributeRule.scope) }) else {
            return rule.failsOpen ? .entry(entry) : .refuse(Self.scopeMissing)
        }
        switch context.userAttributes {
        case nil:
            let token = Secret(Array(value.utf8.dropFirst(prefix)))
            return .needed(
                UserAttributeQuestion(
                    token: token, issuerName: entry.token.issuerName, subject: entry.subject,
                    expires: entry.token.expires))
        case .found(let values):
            switch remember(value, entry.token.with(values, of: rule), cache, context, lacksAttributes: false) {
            case .entry(let entry): return .entry(entry)
            case .refuse(let refusal): return .refuse(refusal)
            case .needsKeys, .revoked: return .refuse(Self.attributesUnavailable)
            }
        case .tokenRefused: return .refuse(Self.refusal(.revoked))
        case .unavailable: return rule.failsOpen ? .entry(entry) : .refuse(Self.attributesUnavailable)
        }
    }

    private static let attributesUnavailable = Refusal.retryLater(
        .identityProviderUnavailable, after: 5, reason: .request(.attributesUnavailable))

    private static let scopeMissing = Refusal.scopeMissing(UserAttributeRule.scope, reason: .policy(.insufficientScope))
}
