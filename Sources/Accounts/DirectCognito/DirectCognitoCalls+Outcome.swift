package import Cognito
internal import Encoding
internal import HTTPTypes
package import Pipeline

/// The refusals of direct calls as account calls have them.
extension DirectCognitoRefusal: AccountFailure {
    /// The refusal of the guard of account calls.
    package init(_ refusal: Refusal) {
        let seconds = refusal.headers[.retryAfter].flatMap { Int($0) } ?? 5
        self =
            refusal.error == .tooManyRequests
            ? .tooManyRequests(after: seconds, reason: refusal.reason) : .unavailable(refusal.reason)
    }

    package var outcome: AccountOutcome { .refused(gatewayError, reason: auditReason) }

    /// The error for the guard of account calls.
    var gatewayError: GatewayError {
        if ExactText(type) == "TooManyRequestsException" { return .tooManyRequests }
        if ExactText(type) == "NotAuthorizedException" { return .notAuthorized }
        return status >= 500 ? .identityProviderUnavailable : .invalidParameter
    }

    /// The reason as the guard of account calls knows it: a member that is not valid is a malformed body.
    var auditReason: Reason { reason == .cognito(.invalidParameter) ? .account(.invalidFields) : reason }
}

extension CognitoAnswer {
    /// The outcome of the call.
    var outcome: AccountOutcome {
        if let error { return .refused(error.kind.gatewayError, reason: .cognito(error.kind)) }
        switch AuthenticationAnswer(output) {
        case .challenge(let challenge): return .challenged(challenge.name)
        case .tokens(let result):
            guard let claims = result.accessClaims,
                let user = AccountUser(accessClaims: claims, idClaims: result.idClaims)
            else { return .succeeded }
            return .signedIn(user)
        case nil: return .succeeded
        }
    }
}

extension CognitoErrorKind {
    /// The gateway's own error that comes nearest.
    fileprivate var gatewayError: GatewayError {
        switch self {
        case .badCredentials, .userNotFound, .invalidSession, .tokenRevoked, .tokenExpired: .notAuthorized
        case .tokenReused: .tokenRefresh
        case .userNotConfirmed: .userNotConfirmed
        case .passwordResetRequired: .passwordResetRequired
        case .userDisabled: .userDisabled
        case .usernameExists: .usernameExists
        case .codeMismatch: .codeMismatch
        case .codeExpired: .expiredCode
        case .lockedOut, .throttled: .tooManyRequests
        default: .invalidParameter
        }
    }
}
