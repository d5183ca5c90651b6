/// The kinds of Cognito's errors: the closed list that every endpoint's error table covers.
///
/// The raw value is the reason in logs.
package enum CognitoErrorKind: String, Sendable, CaseIterable {
    case badCredentials = "bad-credentials"
    case userNotFound = "user-not-found"
    case userNotConfirmed = "user-not-confirmed"
    case passwordResetRequired = "password-reset-required"
    case userDisabled = "user-disabled"
    /// An administrator's temporary password that was not used in time.
    case temporaryPasswordExpired = "temporary-password-expired"
    /// A user with this name or e-mail address exists.
    case usernameExists = "username-exists"
    /// ConfirmSignUp for a user who is already confirmed.
    case alreadyConfirmed = "already-confirmed"
    case invalidPassword = "invalid-password"
    case codeMismatch = "code-mismatch"
    case codeExpired = "code-expired"
    /// The message with a code could not be sent.
    case deliveryFailed = "delivery-failed"
    /// The second factor of the response is not set up.
    case secondFactorMissing = "second-factor-missing"
    /// The device is not the user's, or no longer.
    case deviceUnknown = "device-unknown"
    /// Too many wrong passwords: "Password attempts exceeded".
    case lockedOut = "locked-out"
    /// A challenge session that has expired or was already used.
    case invalidSession = "invalid-session"
    /// An access or refresh token that is unknown, malformed or revoked.
    case tokenRevoked = "token-revoked"
    case tokenExpired = "token-expired"
    /// An access token without the scope for a user's own account.
    case scopeMissing = "scope-missing"
    /// A rotated refresh token was used again.
    case tokenReused = "token-reused"
    /// The client secret, or the hash made with it, is not the app client's.
    case clientSecretRefused = "client-secret-refused"
    case clientUnknown = "client-unknown"
    /// The signature of an administrator's call, or its right to make it, was refused.
    case signatureRefused = "signature-refused"
    /// The gateway has no AWS credentials to sign with.
    case credentialsMissing = "aws-credentials-missing"
    /// The app client does not allow the authentication flow.
    case flowNotEnabled = "flow-not-enabled"
    /// The pool's own configuration prevents a response: a trigger, a role, an SMS or e-mail setting.
    case poolMisconfigured = "pool-misconfigured"
    /// The web application firewall before the pool refused the gateway.
    case blockedByFirewall = "blocked-by-firewall"
    /// One of the pool's own triggers rejected the call.
    case rejectedByTrigger = "rejected-by-trigger"
    /// Only administrators can create users in the pool.
    case signUpNotPermitted = "sign-up-not-permitted"
    case throttled = "throttled"
    case unsupportedOperation = "unsupported-operation"
    case invalidParameter = "invalid-parameter"
    /// No response, a server error, or a response that is not Cognito's.
    case unavailable = "provider-unavailable"
    case other = "provider-error"
}
