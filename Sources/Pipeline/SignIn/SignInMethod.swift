/// The way in which a user authenticates at a sign-in. Metrics count sign-ins by it.
package enum SignInMethod: String, Sendable, CaseIterable {
    /// With a password at the gateway, whatever factors follow.
    case password
    /// With a code from a message in place of a password.
    case passwordless
    case passkey
    /// By an identity token of Apple's.
    case apple
    /// At another identity provider, or on Cognito's hosted pages.
    case federated
    /// By the app itself, which calls Cognito through the gateway.
    case translated
    /// By challenges of the pool's own triggers.
    case custom
}
