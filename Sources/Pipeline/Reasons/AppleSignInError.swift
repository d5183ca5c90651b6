/// Why Sign in with Apple is refused for what was shown, beside what the verifier finds in any token. The raw values
/// are for logs and metrics; a client is told the same of all of them.
package enum AppleSignInError: String, Error, Sendable, CaseIterable {
    /// The identity token was made for no nonce.
    case nonceMissing = "nonce-missing"
    /// It was made for another nonce than the one shown.
    case nonceMismatch = "nonce-mismatch"
    /// The nonce is none of this gateway's where it has to be.
    case nonceUnknown = "nonce-unknown"
    case nonceExpired = "nonce-expired"
    case nonceReused = "nonce-reused"
    case identityTokenReused = "identity-token-replayed"
    /// It was issued too long ago, or does not say when.
    case identityTokenTooOld = "identity-token-too-old"
    case issuedInFuture = "issued-in-future"
    /// It was issued beside another authorization code.
    case authorizationCodeMismatch = "authorization-code-mismatch"
    case userIdentifierMismatch = "user-identifier-mismatch"
    /// A notification that is none, or too old to be told from one that comes again.
    case notificationInvalid = "notification-invalid"
}
