/// The reason that Sign in with Apple is refused, in addition to the verifier's reasons for any token. The raw values
/// are for logs and metrics; clients get the same response for all.
package enum AppleSignInError: String, Error, Sendable, CaseIterable {
    /// The identity token has no nonce.
    case nonceMissing = "nonce-missing"
    /// The identity token has another nonce than the one presented.
    case nonceMismatch = "nonce-mismatch"
    /// The nonce is not from this gateway, although it must be.
    case nonceUnknown = "nonce-unknown"
    case nonceExpired = "nonce-expired"
    case nonceReused = "nonce-reused"
    case identityTokenReused = "identity-token-replayed"
    /// It was issued too long ago, or has no issue time.
    case identityTokenTooOld = "identity-token-too-old"
    case issuedInFuture = "issued-in-future"
    /// It was issued with another authorization code.
    case authorizationCodeMismatch = "authorization-code-mismatch"
    case userIdentifierMismatch = "user-identifier-mismatch"
    /// The message is not a valid notification, or is too old to detect whether it is a replay.
    case notificationInvalid = "notification-invalid"
}
