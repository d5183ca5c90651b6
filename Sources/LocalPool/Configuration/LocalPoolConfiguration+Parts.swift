package import Cryptography

extension LocalPoolConfiguration {
    /// An app client.
    package struct Client: Sendable {
        package var id: String
        /// Nil for a public client, which does not authenticate.
        package var secret: Secret?
        /// Cognito's ExplicitAuthFlows.
        package var flows: Set<String> = Self.allFlows
        /// Cognito's WriteAttributes; nil: the client may write every attribute.
        var writeAttributes: [String]?
        /// Cognito's ReadAttributes; nil: the client may read every attribute.
        var readAttributes: [String]?
        /// Nil for a client that may not use the hosted pages.
        package var hosted: Hosted?

        package init(id: String, secret: Secret?) {
            self.id = id
            self.secret = secret
        }

        static let allFlows: Set<String> = [
            "ALLOW_USER_PASSWORD_AUTH", "ALLOW_USER_SRP_AUTH", "ALLOW_ADMIN_USER_PASSWORD_AUTH",
            "ALLOW_REFRESH_TOKEN_AUTH", "ALLOW_USER_AUTH", "ALLOW_CUSTOM_AUTH",
        ]
    }

    /// The pool's rule for new passwords.
    package struct PasswordRule: Sendable {
        var minimumLength: Int64 = 8
        var requiresLowercase = false
        var requiresUppercase = false
        var requiresNumbers = false
        var requiresSymbols = false

        package init() {}
    }

    /// Second factors.
    package struct MFA: Sendable {
        package enum Mode: String, Sendable, CaseIterable {
            case off, optional, required
        }

        package var mode = Mode.optional
        /// The methods that users may choose, by challenge name.
        package var methods: Set<String> = ["SMS_MFA", "SOFTWARE_TOKEN_MFA", "EMAIL_OTP"]

        package init() {}
    }

    /// Device tracking.
    package enum DeviceTracking: String, Sendable, CaseIterable {
        /// Devices are not tracked.
        case off
        /// Every confirmed device is remembered.
        case always
        /// The user is asked first; UpdateDeviceStatus reports the decision.
        case optIn = "opt_in"
    }

    /// Lifetimes in seconds.
    package struct Lifetimes: Sendable {
        package var accessToken: Int64 = 3600
        package var idToken: Int64 = 3600
        package var refreshToken: Int64 = 30 * 86_400
        /// The code that confirms a sign-up or an address.
        var confirmationCode: Int64 = 86_400
        /// The code that resets a password.
        var passwordResetCode: Int64 = 3600
        /// The session of a challenge.
        package var session: Int64 = 180
        /// A temporary password set by an administrator.
        var temporaryPassword: Int64 = 7 * 86_400

        package init() {}
    }

    /// Cognito's RefreshTokenRotation.
    package struct Rotation: Sendable {
        package var isEnabled = false
        /// The time in seconds for which a replaced token is still valid for retries; 0 to 60.
        var retryGrace: Int64 = 0

        package init() {}
    }

    /// A user who exists from the first start. At every start, the configuration overrides the stored user.
    package struct SeededUser: Sendable {
        /// Empty for a user without an address, which only pools with other user names allow.
        package var email: String
        /// The user name, in a pool whose users choose names.
        package var username: String?
        package var password: Secret
        /// The user's UUID; nil: random, and stored.
        package var sub: String?
        package var groups: [String]
        /// Further attributes by Cognito's names, such as `name` or `custom:tier`.
        package var attributes: [String: String]
        package var isConfirmed: Bool

        package init(
            email: String, username: String? = nil, password: Secret, sub: String? = nil, groups: [String] = [],
            attributes: [String: String] = [:], isConfirmed: Bool = true
        ) {
            self.email = email
            self.username = username
            self.password = password
            self.sub = sub
            self.groups = groups
            self.attributes = attributes
            self.isConfirmed = isConfirmed
        }

        /// The name that the user signs up with, by the pool's rule; nil if there is none.
        func name(by rule: NamingRule) -> String? {
            guard !rule.hasUsernames else { return username }
            if rule.usernameAttributes.contains("email"), !email.isEmpty { return email }
            return rule.usernameAttributes.contains("phone_number") ? attributes["phone_number"] : nil
        }
    }
}
