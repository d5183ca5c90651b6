internal import Encoding
package import HTTPTypes

/// Every refusal a client can get, with its status and stable name: the one map from error to response.
///
/// The `rawValue` is the `error` key of the response's JSON body.
package enum GatewayError: String, Error, Sendable, CaseIterable {
    case badRequest = "BadRequestException"
    case notAuthorized = "NotAuthorizedException"
    case tokenExpired = "TokenExpiredException"
    case tokenRefresh = "TokenRefreshException"
    case userNotConfirmed = "UserNotConfirmedException"
    case passwordResetRequired = "PasswordResetRequiredException"
    case userDisabled = "UserDisabledException"
    /// An administrator's temporary password was not used in time.
    case temporaryPasswordExpired = "TemporaryPasswordExpiredException"
    /// A trigger of the user pool rejected the request. The name is Cognito's.
    case rejectedByTrigger = "UserLambdaValidationException"
    case accessDenied = "AccessDeniedException"
    case forbidden = "ForbiddenException"
    case unsupportedChallenge = "UnsupportedChallengeException"
    case usernameExists = "UsernameExistsException"
    case roleConflict = "RoleConflictException"
    case notFound = "NotFoundException"
    case methodNotAllowed = "MethodNotAllowedException"
    case payloadTooLarge = "PayloadTooLargeException"
    case uriTooLong = "UriTooLongException"
    case headersTooLarge = "HeadersTooLargeException"
    case invalidParameter = "InvalidParameterException"
    case invalidPassword = "InvalidPasswordException"
    case codeMismatch = "CodeMismatchException"
    case expiredCode = "ExpiredCodeException"
    case expectationFailed = "ExpectationFailedException"
    case misdirectedRequest = "MisdirectedRequestException"
    case requestTimeout = "RequestTimeoutException"
    case tooManyRequests = "TooManyRequestsException"
    case notImplemented = "NotImplementedException"
    case upstream = "UpstreamException"
    case upstreamTimeout = "UpstreamTimeoutException"
    case identityProviderUnavailable = "IdentityProviderUnavailableException"
    case serviceUnavailable = "ServiceUnavailableException"
    case httpVersionNotSupported = "HttpVersionNotSupportedException"
    case internalFailure = "InternalFailureException"

    package var status: HTTPResponse.Status {
        switch self {
        case .badRequest: .badRequest
        case .notAuthorized, .tokenExpired, .tokenRefresh: .unauthorized
        case .userNotConfirmed, .passwordResetRequired, .userDisabled, .temporaryPasswordExpired, .rejectedByTrigger,
            .accessDenied, .forbidden, .unsupportedChallenge:
            .forbidden
        case .usernameExists, .roleConflict: .conflict
        case .notFound: .notFound
        case .methodNotAllowed: .methodNotAllowed
        case .misdirectedRequest: .misdirectedRequest
        case .requestTimeout: .requestTimeout
        case .expectationFailed: .expectationFailed
        case .payloadTooLarge: .contentTooLarge
        case .uriTooLong: .uriTooLong
        case .headersTooLarge: .requestHeaderFieldsTooLarge
        case .invalidParameter, .invalidPassword, .codeMismatch, .expiredCode: .unprocessableContent
        case .tooManyRequests: .tooManyRequests
        case .internalFailure: .internalServerError
        case .notImplemented: .notImplemented
        case .upstream: .badGateway
        case .upstreamTimeout: .gatewayTimeout
        case .identityProviderUnavailable, .serviceUnavailable: .serviceUnavailable
        case .httpVersionNotSupported: .httpVersionNotSupported
        }
    }

    /// The `statusCode` key of the response's JSON body.
    package var statusCode: Int { status.code }

    /// The message for the client unless the caller gives a better one. It reveals nothing about the cause.
    package var defaultMessage: String {
        switch self {
        case .badRequest: "The request is not valid HTTP or JSON."
        case .notAuthorized: "Authentication is required."
        case .tokenExpired: "The access token has expired."
        case .tokenRefresh: "The session has ended. Sign in again."
        case .userNotConfirmed: "The account is not confirmed yet."
        case .passwordResetRequired: "The password must be reset."
        case .userDisabled: "This account is disabled."
        case .temporaryPasswordExpired: "The temporary password has expired. Ask for another one."
        case .rejectedByTrigger: "The sign-in service does not allow this."
        case .accessDenied: "You are not allowed to do this."
        case .forbidden: "This request is not allowed."
        case .unsupportedChallenge: "This account needs a sign-in step that this app cannot show."
        case .usernameExists: "There is such an account already."
        case .roleConflict: "This account is in use with another app."
        case .notFound: "There is nothing at this address."
        case .methodNotAllowed: "This method is not allowed here."
        case .payloadTooLarge: "The request body is too large."
        case .uriTooLong: "The request target is too long."
        case .headersTooLarge: "The request headers are too large."
        case .invalidParameter: "Some fields are missing or not valid."
        case .invalidPassword: "The password does not meet the policy."
        case .codeMismatch: "The code is not right."
        case .expiredCode: "The code has expired. Ask for another one."
        case .expectationFailed: "This expectation cannot be met."
        case .misdirectedRequest: "This host is not served here."
        case .requestTimeout: "The request was not complete in time."
        case .tooManyRequests: "Too many requests. Try again later."
        case .notImplemented: "This is not supported."
        case .upstream: "The service could not be reached."
        case .upstreamTimeout: "The service did not respond in time."
        case .identityProviderUnavailable: "Sign-in is not available right now. Try again later."
        case .serviceUnavailable: "The service is not available right now. Try again later."
        case .httpVersionNotSupported: "This HTTP version is not supported."
        case .internalFailure: "Something went wrong."
        }
    }
}
