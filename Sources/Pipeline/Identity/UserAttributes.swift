package import Cryptography
internal import Encoding

/// Which attributes of an issuer's users go with its access tokens, which have none of their own.
package struct UserAttributeRule: Sendable, Equatable {
    /// The issuer's name in the configuration: a user pool.
    package var issuer: String
    /// Cognito's names, such as `email` or `custom:plan`. `email` and `phone_number` have their `_verified` beside them.
    package let attributes: [String]
    /// Whether a request goes on without them where they cannot be read.
    package var failsOpen: Bool

    package init(issuer: String, attributes: [String], failsOpen: Bool) {
        self.issuer = issuer
        // An address counts for nothing without this: the user may have set it, and not be its owner.
        let proofs = ["email", "phone_number"].filter { $0.isOne(of: attributes) }.map { $0 + "_verified" }
        self.attributes = attributes + proofs.filter { !$0.isOne(of: attributes) }
        self.failsOpen = failsOpen
    }

    /// The scope that Cognito wants of an access token to say whose it is.
    package static let scope = "aws.cognito.signin.user.admin"

    /// Whether an attribute of this name can be read: one of OpenID Connect Core 5.1 that Cognito has, or a custom one.
    /// None has the name of a claim that Cognito itself puts into access tokens.
    package static func canHold(_ name: String) -> Bool {
        let others = ["email", "email_verified", "phone_number_verified", "preferred_username", "updated_at"]
        return WritableAttributes.canHold(name) || name.isOne(of: others)
    }
}

/// A token whose user's attributes are wanted.
package struct UserAttributeQuestion: Sendable {
    package var token: Secret
    /// Of the configuration.
    package var issuerName: String
    /// The token's `sub`.
    package var subject: String
    /// When the token ends, in seconds since 1970.
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
    /// The user's attributes by Cognito's names; texts, as Cognito has them.
    case found([String: String])
    /// Cognito takes the token no more.
    case tokenRefused
    /// Nobody can say.
    case unavailable
}

extension VerifiedToken {
    /// The token with its user's attributes as claims, in the forms that an ID token has them in. The token's own
    /// claims stay as they are.
    func with(_ values: [String: String], of rule: UserAttributeRule) -> VerifiedToken {
        var token = self
        for name in rule.attributes where token.claims[name] == nil {
            // Cognito leaves out an attribute that was never set: such an address is not proven.
            if let address = ["email", "phone_number"].first(where: { name.hasSameBytes(as: $0 + "_verified") }) {
                // Of a token's own address, which may be another one, only the token can say it.
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
