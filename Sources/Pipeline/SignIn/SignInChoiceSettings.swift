/// The sign-ins without a password that a pool's users may begin. There are none by default.
package struct SignInChoiceSettings: Sendable {
    /// The first factors in the order in which apps show them; empty if there is no choice.
    package var factors: [SignInFactor] = []
    /// The domain of the pool's passkeys.
    package var relyingPartyID = ""
    package var userVerification = UserVerification.preferred
    /// Whether users may sign in with the challenges of the pool's own triggers (`CUSTOM_AUTH`).
    package var allowsCustom = false
    /// The keys of `client_metadata` that are forwarded to the pool's triggers.
    package var metadataKeys: [String] = []

    package init() {}
}

/// A first factor, named like its challenge at Cognito.
package enum SignInFactor: String, Sendable, CaseIterable {
    case email = "EMAIL_OTP"
    case sms = "SMS_OTP"
    case passkey = "WEB_AUTHN"
    /// Proven by the pool's configured flow.
    case password = "PASSWORD"
    /// Proven by SRP within `USER_AUTH`, so that the app client needs no other flow.
    case passwordProof = "PASSWORD_SRP"

    package var isPassword: Bool { self == .password || self == .passwordProof }
}

/// Whether an authenticator must recognise its user (WebAuthn Level 3, 5.8.6).
package enum UserVerification: String, Sendable, CaseIterable {
    case preferred, required
}
