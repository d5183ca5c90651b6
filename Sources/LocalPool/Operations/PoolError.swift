/// A refusal in Cognito's terms.
package struct PoolError: Error, Equatable, Sendable {
    /// The exception's name, as in `__type`.
    package let type: String
    package let message: String

    /// Cognito answers every refusal with 400; only its own failure is 500.
    package var status: Int { type == "InternalErrorException" ? 500 : 400 }

    static func notAuthorized(_ message: String) -> PoolError {
        PoolError(type: "NotAuthorizedException", message: message)
    }

    static func invalidParameter(_ message: String) -> PoolError {
        PoolError(type: "InvalidParameterException", message: message)
    }

    static let badCredentials = notAuthorized("Incorrect username or password.")
    static let userNotFound = PoolError(type: "UserNotFoundException", message: "User does not exist.")
    static let userNotConfirmed = PoolError(type: "UserNotConfirmedException", message: "User is not confirmed.")
    static let attemptsExceeded = notAuthorized("Password attempts exceeded")
    static let usernameExists = PoolError(
        type: "UsernameExistsException", message: "An account with the given email already exists.")
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
    static let unknownOperation = PoolError(type: "UnknownOperationException", message: "")
    static let serialization = PoolError(type: "SerializationException", message: "")
    static let internalError = PoolError(type: "InternalErrorException", message: "Internal error")
}
