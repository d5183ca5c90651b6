package import Cognito
internal import Encoding
internal import HTTPTypes
package import Pipeline

/// The conversion of direct calls' refusals to those of account calls, and back.
extension DirectCognitoRefusal: AccountFailure {
    /// Translates a refusal of the account flow.
    package init(_ refusal: Refusal) {
        let seconds = refusal.headers[.retryAfter].flatMap { Int($0) } ?? 5
        self =
            refusal.error == .tooManyRequests
            ? .tooManyRequests(after: seconds, reason: refusal.reason) : .unavailable(refusal.reason)
    }

    package var outcome: AccountOutcome { .refused(gatewayError, reason: auditReason) }

    /// The API error for the account flow.
    var gatewayError: GatewayError {
        if ExactText(type) == "TooManyRequestsException" { return .tooManyRequests }
        if ExactText(type) == "NotAuthorizedException" { return .notAuthorized }
        return status >= 500 ? .identityProviderUnavailable : .invalidParameter
    }

    /// The reason for the account flow: an invalid member is an invalid field of the body.
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
    /// The closest of the gateway's own errors.
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
