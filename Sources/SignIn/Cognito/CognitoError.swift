package import Encoding
package import Upstream

/// A failure that Cognito reported, by its own name.
///
/// The message is Cognito's and is for classification only: it can echo what was sent, so it is neither shown to
/// clients nor logged.
package struct CognitoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Cognito's name, without namespace and suffix, such as `NotAuthorizedException`.
    @Exact package var type: String
    @Exact package var message: String
    package var kind: CognitoErrorKind
    /// Why there was no answer, where there was none.
    package var noAnswer: FetchError?

    package init(type: String, message: String) {
        self.type = type
        self.message = message
        kind = CognitoErrorKind(type: type, message: message)
    }

    /// The type and nothing else: see the type's comment.
    package var description: String { "CognitoError(\(type), \(kind.rawValue))" }
}

/// The kinds of Cognito's errors: the closed list that every endpoint's error table is over.
///
/// The raw value is the reason in logs.
package enum CognitoErrorKind: String, Sendable, CaseIterable {
    case badCredentials = "bad-credentials"
    case userNotFound = "user-not-found"
    case userNotConfirmed = "user-not-confirmed"
    case passwordResetRequired = "password-reset-required"
    case userDisabled = "user-disabled"
    /// There is such a user already, or one whose e-mail address it is.
    case usernameExists = "username-exists"
    /// ConfirmSignUp for a user who needs none any more.
    case alreadyConfirmed = "already-confirmed"
    case invalidPassword = "invalid-password"
    case codeMismatch = "code-mismatch"
    case codeExpired = "code-expired"
    /// The message with a code could not be sent.
    case deliveryFailed = "delivery-failed"
    /// The second factor that was answered for is not set up.
    case secondFactorMissing = "second-factor-missing"
    /// The device is not, or no longer, the user's.
    case deviceUnknown = "device-unknown"
    /// Too many wrong passwords: "Password attempts exceeded".
    case lockedOut = "locked-out"
    /// A challenge session that has expired or was used.
    case invalidSession = "invalid-session"
    /// An access or refresh token that is unknown, malformed or revoked.
    case tokenRevoked = "token-revoked"
    case tokenExpired = "token-expired"
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
    /// The pool's own configuration keeps it from answering: a trigger, a role, an SMS or e-mail setting.
    case poolMisconfigured = "pool-misconfigured"
    /// The web application firewall before the pool refused the gateway.
    case blockedByFirewall = "blocked-by-firewall"
    /// One of the pool's own triggers said no.
    case rejectedByTrigger = "rejected-by-trigger"
    case throttled = "throttled"
    case unsupportedOperation = "unsupported-operation"
    case invalidParameter = "invalid-parameter"
    /// No answer, a server fault, or an answer that is not Cognito's.
    case unavailable = "provider-unavailable"
    case other = "provider-error"

    /// Classifies by Cognito's name and, where one name has several meanings, by its message.
    init(type: String, message: String) {
        let type = ExactText(type)
        let message = message.asciiLowercased
        switch type {
        case "NotAuthorizedException": self = Self.notAuthorized(message)
        case "InvalidParameterException": self = Self.invalidParameter(message)
        case "ResourceNotFoundException":
            self = message.holds("device") ? .deviceUnknown : .clientUnknown
        default: self = Self.byType[type] ?? .other
        }
    }

    /// `NotAuthorizedException` is overloaded: only its message tells a wrong password from a wrong client secret.
    private static func notAuthorized(_ message: String) -> CognitoErrorKind {
        if message.holds("secret") { return .clientSecretRefused }
        if message.holds("not enabled for this client") { return .flowNotEnabled }
        if message.holds("attempts exceeded") { return .lockedOut }
        if message.holds("user is disabled") { return .userDisabled }
        if message.holds("invalid session") { return .invalidSession }
        if message.holds("cannot be confirmed") { return .alreadyConfirmed }
        if message.holds("unauthorized attribute") { return .invalidParameter }
        guard message.holds("access token") || message.holds("refresh token") else { return .badCredentials }
        return message.holds("expired") ? .tokenExpired : .tokenRevoked
    }

    private static func invalidParameter(_ message: String) -> CognitoErrorKind {
        if message.holds("secret") { return .clientSecretRefused }
        if message.holds("not enabled for this client") { return .flowNotEnabled }
        if message.holds("already confirmed") { return .alreadyConfirmed }
        // A user name or password outside the API's grammar can belong to nobody.
        let namesCredential = message.holds("at 'username'") || message.holds("at 'password'")
        return namesCredential ? .badCredentials : .invalidParameter
    }

    private static let byType: [ExactText: CognitoErrorKind] = [
        "UserNotFoundException": .userNotFound,
        "UserNotConfirmedException": .userNotConfirmed,
        "PasswordResetRequiredException": .passwordResetRequired,
        "RefreshTokenReuseException": .tokenReused,
        "UsernameExistsException": .usernameExists,
        "AliasExistsException": .usernameExists,
        "InvalidPasswordException": .invalidPassword,
        "PasswordHistoryPolicyViolationException": .invalidPassword,
        "CodeMismatchException": .codeMismatch,
        "ExpiredCodeException": .codeExpired,
        "EnableSoftwareTokenMFAException": .codeMismatch,
        "CodeDeliveryFailureException": .deliveryFailed,
        "MFAMethodNotFoundException": .secondFactorMissing,
        "SoftwareTokenMFANotFoundException": .secondFactorMissing,
        "UnsupportedTokenTypeException": .tokenRevoked,
        "UnauthorizedException": .clientSecretRefused,
        "UnrecognizedClientException": .signatureRefused,
        "InvalidSignatureException": .signatureRefused,
        "IncompleteSignatureException": .signatureRefused,
        "MissingAuthenticationTokenException": .signatureRefused,
        "ExpiredTokenException": .signatureRefused,
        "AccessDeniedException": .signatureRefused,
        "ConcurrentModificationException": .throttled,
        "InvalidUserPoolConfigurationException": .poolMisconfigured,
        "InvalidSmsRoleAccessPolicyException": .poolMisconfigured,
        "InvalidSmsRoleTrustRelationshipException": .poolMisconfigured,
        "InvalidEmailRoleAccessPolicyException": .poolMisconfigured,
        "InvalidLambdaResponseException": .poolMisconfigured,
        "UnexpectedLambdaException": .poolMisconfigured,
        "UserLambdaValidationException": .rejectedByTrigger,
        "ForbiddenException": .blockedByFirewall,
        "TooManyRequestsException": .throttled,
        "TooManyFailedAttemptsException": .throttled,
        "LimitExceededException": .throttled,
        "ThrottlingException": .throttled,
        "UnsupportedOperationException": .unsupportedOperation,
        "UnknownOperationException": .unsupportedOperation,
        "InternalErrorException": .unavailable,
    ]
}
