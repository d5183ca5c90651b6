package import Cryptography
internal import Encoding

/// The user attributes to add to an issuer's access tokens, which contain none.
package struct UserAttributeRule: Sendable, Equatable {
    /// The issuer's name in the configuration: a user pool.
    package var issuer: String
    /// Cognito's names, such as `email` or `custom:plan`. `email` and `phone_number` come with their `_verified`
    /// attributes.
    package let attributes: [String]
    /// Whether a request proceeds without the attributes if they cannot be read.
    package var failsOpen: Bool

    package init(issuer: String, attributes: [String], failsOpen: Bool) {
        self.issuer = issuer
        // An address is worth nothing without this attribute: the user may have set it without owning it.
        let proofs = ["email", "phone_number"].filter { $0.isOne(of: attributes) }.map { $0 + "_verified" }
        self.attributes = attributes + proofs.filter { !$0.isOne(of: attributes) }
        self.failsOpen = failsOpen
    }

    /// The scope that Cognito requires of an access token to return its user's attributes.
    package static let scope = "aws.cognito.signin.user.admin"

    /// Whether an attribute of this name can be read: a claim of OpenID Connect Core 5.1 that Cognito has, or a custom
    /// attribute. None has the name of a claim that Cognito itself puts into access tokens.
    package static func canHold(_ name: String) -> Bool {
        let others = ["email", "email_verified", "phone_number_verified", "preferred_username", "updated_at"]
        return WritableAttributes.canHold(name) || name.isOne(of: others)
    }
}

/// A request for the attributes of a token's user.
package struct UserAttributeQuestion: Sendable {
    package var token: Secret
    /// The issuer's name in the configuration.
    package var issuerName: String
    /// The token's `sub`.
    package var subject: String
    /// The expiry of the token, in seconds since 1970.
    package var expires: Int64

    package init(token: Secret, issuerName: String, subject: String, expires: Int64) {
        self.token = token
        self.issuerName = issuerName
        self.subject = subject
        self.expires = expires
    }
}

/// The answer to a ``UserAttributeQuestion``.
package enum UserAttributeAnswer: Sendable, Equatable {
    /// The user's attributes by Cognito's names. All values are text, as in Cognito.
    case found([String: String])
    /// Cognito no longer accepts the token.
    case tokenRefused
    /// The attributes cannot be determined.
    case unavailable
}

extension VerifiedToken {
    /// The token with its user's attributes as claims, in the form of an ID token's claims. The token's own claims are
    /// not changed.
    func with(_ values: [String: String], of rule: UserAttributeRule) -> VerifiedToken {
        var token = self
        for name in rule.attributes where token.claims[name] == nil {
            // Cognito omits an attribute that was never set: such an address is unverified.
            if let address = ["email", "phone_number"].first(where: { name.hasSameBytes(as: $0 + "_verified") }) {
                // If the token has its own address, which may be another one, only the token can say that it is
                // verified.
                guard claims[address] == nil else { continue }
                token.claims[name] = .bool(values[name].hasSameBytes(as: "true"))
            } else if let value = values[name] {
                token.claims[name] = .string(value)
            }
        }
        token.email = token.claims["email"]?.stringValue
        token.emailVerified = token.claims["email_verified"]?.flagValue
        return token
    }
}
