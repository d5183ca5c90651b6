/// An error response of Cognito.
package struct PoolError: Error, Equatable, Sendable {
    /// The exception's name, as in `__type`.
    package let type: String
    package let message: String

    /// Cognito uses 400 for all client errors, and 500 for its own failures.
    package var status: Int { type == "InternalErrorException" ? 500 : 400 }

    static func notAuthorized(_ message: String) -> PoolError {
        PoolError(type: "NotAuthorizedException", message: message)
    }

    static func invalidParameter(_ message: String) -> PoolError {
        PoolError(type: "InvalidParameterException", message: message)
    }

    /// - Parameter attribute: the attribute whose value is the name; nil for a chosen name.
    static func usernameExists(_ attribute: String?) -> PoolError {
        let message = attribute.map { "An account with the given \($0) already exists." } ?? "User already exists"
        return PoolError(type: "UsernameExistsException", message: message)
    }

    static func aliasExists(_ attribute: String?) -> PoolError {
        PoolError(
            type: "AliasExistsException",
            message: "An account with the given \(attribute ?? "username") already exists.")
    }

    static let badCredentials = notAuthorized("Incorrect username or password.")
    static let unauthorizedAttribute = notAuthorized("A client attempted to write unauthorized attribute")
    static let userNotFound = PoolError(type: "UserNotFoundException", message: "User does not exist.")
    static let userNotConfirmed = PoolError(type: "UserNotConfirmedException", message: "User is not confirmed.")
    static let attemptsExceeded = notAuthorized("Password attempts exceeded")
    static let signUpNotPermitted = notAuthorized("SignUp is not permitted for this user pool")
    static let preferredUsernameTooEarly = invalidParameter(
        "Preferred username cannot be provided for unconfirmed account, since user pool is configured for preferred "
            + "username alias.")
    static let codeMismatch = PoolError(
        type: "CodeMismatchException", message: "Invalid verification code provided, please try again.")
    static let expiredCode = PoolError(
        type: "ExpiredCodeException", message: "Invalid code provided, please request a code again.")
    static let limitExceeded = PoolError(
        type: "LimitExceededException", message: "Attempt limit exceeded, please try after some time.")
    static let invalidRefreshToken = notAuthorized("Invalid Refresh Token")
    static let expiredRefreshToken = notAuthorized("Refresh Token has expired")
    static let reusedRefreshToken = PoolError(
        type: "RefreshTokenReuseException", message: "Refresh token has already been used.")
    static let invalidAccessToken = notAuthorized("Invalid Access Token")
    static let expiredAccessToken = notAuthorized("Access Token has expired")
    static let revokedRefreshToken = notAuthorized("Refresh Token has been revoked")
    static let revokedAccessToken = notAuthorized("Access Token has been revoked")
    static let invalidSession = notAuthorized("Invalid session for the user.")
    static let usedSession = notAuthorized("Invalid session for the user, session can only be used once.")
    static let expiredSession = notAuthorized("Invalid session for the user, session is expired.")
    static let userDisabled = notAuthorized("User is disabled.")
    static let temporaryPasswordExpired = notAuthorized(
        "Temporary password has expired and must be reset by an administrator.")
    static let passwordResetRequired = PoolError(
        type: "PasswordResetRequiredException", message: "Password reset required for the user")
    static let softwareTokenNotFound = PoolError(
        type: "SoftwareTokenMFANotFoundException", message: "Software Token MFA has not been set up for the user.")
    static let softwareTokenReused = PoolError(
        type: "ExpiredCodeException", message: "Your software token has already been used once.")
    static let softwareTokenNotEnabled = PoolError(
        type: "EnableSoftwareTokenMFAException", message: "Code mismatch")
    static let noDevice = PoolError(type: "ResourceNotFoundException", message: "Device does not exist.")
    static let unknownOperation = PoolError(type: "UnknownOperationException", message: "")

    /// Cognito has no message here. The local pool names the operation, which helps its users.
    static func unknownOperation(_ name: String) -> PoolError {
        PoolError(
            type: "UnknownOperationException",
            message: "The local pool has no operation \(name.unicodeScalars.prefix(64).map { String($0) }.joined()).")
    }

    static let serialization = PoolError(type: "SerializationException", message: "")
    static let internalError = PoolError(type: "InternalErrorException", message: "Internal error")
}
