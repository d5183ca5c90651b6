internal import Cryptography
internal import Encoding
internal import HTTPTypes

/// User attributes, which are read once for each access token and cached with it.
extension Gate {
    enum Completion {
        case entry(TokenCache.Entry)
        case needed(UserAttributeQuestion)
        case refuse(Refusal)
    }

    /// Whether the attributes of a token's user must be read.
    func lacksAttributes(_ token: VerifiedToken) -> Bool {
        guard let userAttributes, token.tokenUse == .access else { return false }
        return token.issuerName.hasSameBytes(as: userAttributes.issuer)
    }

    /// Adds the user's attributes to a token's cache entry.
    ///
    /// - Parameters:
    ///   - value: the field value with the token after `prefix` bytes.
    ///   - entry: the entry without the attributes.
    func complete(
        _ value: String, _ prefix: Int, _ entry: TokenCache.Entry, _ cache: TokenCache, _ context: RequestContext
    ) -> Completion {
        guard let rule = userAttributes else { return .entry(entry) }
        // Cognito would refuse the token, although it is valid.
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
