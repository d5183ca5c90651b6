package import Pipeline

/// How users sign in with Apple.
package struct AppleSignInSettings: Sendable {
    package enum ServerNonce: Sendable {
        case off, optional, required
    }

    package enum Mode: Sendable {
        /// The gateway keeps the users, and a sign-in begins a session of its own.
        case terminate
        /// A backend does, and gets the verified sign-in.
        case forward
    }

    /// Of the identity tokens: Apple.
    package var issuer: Issuer
    package var rules: AppleIdentityRules
    package var roleConflictMessage: String
    package var mode: Mode
    /// Whether a sign-in that names a user and proves nothing goes to the backend all the same, as nobody's.
    package var forwardsLegacy: Bool
    package var serverNonce: ServerNonce
    /// In seconds.
    package var serverNonceLifetime: Int64
    /// The most bytes of an identity token that are looked at.
    package var maximumTokenBytes: Int

    package init(
        issuer: Issuer, rules: AppleIdentityRules, roleConflictMessage: String, mode: Mode = .terminate,
        forwardsLegacy: Bool = false, serverNonce: ServerNonce = .optional, serverNonceLifetime: Int64 = 300,
        maximumTokenBytes: Int = TokenVerifier.defaultMaximumTokenBytes
    ) {
        self.issuer = issuer
        self.rules = rules
        self.roleConflictMessage = roleConflictMessage
        self.mode = mode
        self.forwardsLegacy = forwardsLegacy
        self.serverNonce = serverNonce
        self.serverNonceLifetime = serverNonceLifetime
        self.maximumTokenBytes = maximumTokenBytes
    }
}
