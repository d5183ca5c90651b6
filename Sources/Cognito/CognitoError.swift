package import Encoding
package import HTTPClient
package import Pipeline

/// An error that Cognito reported, under Cognito's name.
///
/// The message is Cognito's and is for classification only. It can repeat the caller's input, so it is neither shown to
/// clients nor logged.
package struct CognitoError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Cognito's name, without namespace and suffix, such as `NotAuthorizedException`.
    @Exact package var type: String
    @Exact package var message: String
    package var kind: CognitoErrorKind
    /// The transport error; nil if Cognito responded.
    package var noAnswer: FetchError?

    package init(type: String, message: String) {
        self.type = type
        self.message = message
        kind = CognitoErrorKind(type: type, message: message)
    }

    /// The type and kind only: the message can repeat the caller's input.
    package var description: String { "CognitoError(\(type), \(kind.rawValue))" }

    /// Whether the error is one of Cognito's per-user limits.
    package var isLimitOfUser: Bool {
        ["LimitExceededException", "TooManyFailedAttemptsException"].contains(ExactText(type))
    }

    /// Whether this error, before anything is proven at a sign-in, reveals whether the account exists or its state.
    package var isOfAccount: Bool {
        switch kind {
        case .badCredentials, .temporaryPasswordExpired, .userNotFound, .userNotConfirmed, .passwordResetRequired,
            .userDisabled, .lockedOut,
            .codeMismatch, .codeExpired, .invalidSession, .invalidParameter, .deviceUnknown, .secondFactorMissing,
            .tokenRevoked, .tokenExpired, .tokenReused, .alreadyConfirmed:
            true
        case .throttled: isLimitOfUser
        default: false
        }
    }
}

extension CognitoErrorKind {
    /// Classifies by Cognito's error name and, if a name has several meanings, by its message.
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

    /// `NotAuthorizedException` is overloaded: only its message distinguishes a wrong password from a wrong client
    /// secret.
    private static func notAuthorized(_ message: String) -> CognitoErrorKind {
        if message.holds("secret") { return .clientSecretRefused }
        if message.holds("not enabled for this client") { return .flowNotEnabled }
        if message.holds("signup is not permitted") { return .signUpNotPermitted }
        if message.holds("attempts exceeded") { return .lockedOut }
        if message.holds("user is disabled") { return .userDisabled }
        if message.holds("temporary password has expired") { return .temporaryPasswordExpired }
        if message.holds("required scopes") { return .scopeMissing }
        if message.holds("invalid session") { return .invalidSession }
        if message.holds("cannot be confirmed") { return .alreadyConfirmed }
        if message.holds("unauthorized attribute") { return .invalidParameter }
        guard message.holds("access token") || message.holds("refresh token") else { return .badCredentials }
        return message.holds("expired") ? .tokenExpired : .tokenRevoked
    }

    private static func invalidParameter(_ message: String) -> CognitoErrorKind {
        // A message about the schema can name an attribute such as `custom:secret_question`.
        if message.holds("secret"), !message.holds("custom:") { return .clientSecretRefused }
        if message.holds("not enabled for this client") { return .flowNotEnabled }
        if message.holds("already confirmed") { return .alreadyConfirmed }
        if message.holds("device key") { return .deviceUnknown }
        // No user can have a user name or password that violates the API's syntax.
        let credentials = ["at 'username'", "at 'password'", "at 'previouspassword'"]
        let namesCredential = credentials.contains(where: message.holds)
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
        "WebAuthnNotEnabledException": .poolMisconfigured,
        "WebAuthnConfigurationMissingException": .poolMisconfigured,
        "WebAuthnChallengeNotFoundException": .invalidParameter,
        "WebAuthnClientMismatchException": .invalidParameter,
        "WebAuthnCredentialNotSupportedException": .invalidParameter,
        "WebAuthnOriginNotAllowedException": .invalidParameter,
        "WebAuthnRelyingPartyMismatchException": .invalidParameter,
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
