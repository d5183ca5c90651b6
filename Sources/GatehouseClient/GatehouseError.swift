public import Foundation

/// An error of the client. ``message`` can be shown to the user.
public enum GatehouseError: Error, Sendable, Equatable {
    /// The e-mail address, the password or another proof is wrong. No account is told from another.
    case wrongCredentials(GatewayError)
    /// The account needs its confirmation code first.
    case notConfirmed(GatewayError)
    /// The password must be reset first.
    case passwordResetRequired(GatewayError)
    /// The code is wrong, or has expired. It can be typed again, or another one be sent.
    case codeRefused(GatewayError)
    /// The request has faulty fields, or a password that the policy refuses.
    case invalid(GatewayError)
    /// There is an account with this name already, or the account is in use with another app.
    case conflict(GatewayError)
    /// The account or the request is not allowed this: disabled users, refusals of the pool's own, policies.
    case forbidden(GatewayError)
    /// Too many tries. `until` is when the next one is accepted, as far as the gateway says.
    case tooManyTries(until: Date?, GatewayError)
    /// The gateway, or the identity provider behind it, is away for now.
    case unavailable(until: Date?, GatewayError)
    case signedOut(SignOutReason)
    /// The device has not been unlocked since it started, so that the stored session cannot be read. It stays.
    case deviceLocked
    /// The session could not be stored or read, for the store's reason. It stays.
    case storage(String)
    /// The gateway could not be reached, or the connection broke. The session stays.
    case network(URLError)
    /// The response is none of the gateway's: a captive portal's, or cut off. The session stays.
    case unexpectedResponse(status: Int)
    /// Any other error response of the gateway.
    case refused(GatewayError)
    /// The request is for another origin than the gateway's. It was not sent.
    case foreignOrigin(URL?)
    /// The request needs a new access token, and its body is a stream that was read already. Send it again.
    case bodyNotReplayable
    /// The user did not prove to be present, or this device cannot ask. The session stays.
    case notPresent
}

extension GatehouseError {
    /// - Parameter now: to compute the times of `Retry-After` from.
    init(_ error: GatewayError, now: Date) {
        let until = error.retryAfter.map { now.addingTimeInterval($0) }
        switch (error.status, error.name) {
        case (403, "UserNotConfirmedException"): self = .notConfirmed(error)
        case (403, "PasswordResetRequiredException"): self = .passwordResetRequired(error)
        case (422, "CodeMismatchException"), (422, "ExpiredCodeException"): self = .codeRefused(error)
        case (401, _): self = .wrongCredentials(error)
        case (403, _): self = .forbidden(error)
        case (409, _): self = .conflict(error)
        case (422, _): self = .invalid(error)
        case (429, _): self = .tooManyTries(until: until, error)
        case (500...599, _): self = .unavailable(until: until, error)
        default: self = .refused(error)
        }
    }

    /// The gateway's error behind this one; nil if it is the client's own.
    public var gatewayError: GatewayError? {
        switch self {
        case .wrongCredentials(let error), .notConfirmed(let error), .passwordResetRequired(let error),
            .codeRefused(let error), .invalid(let error), .conflict(let error), .forbidden(let error),
            .tooManyTries(_, let error), .unavailable(_, let error), .refused(let error),
            .signedOut(.ended(let error)):
            error
        default: nil
        }
    }

    /// A text for the user: the gateway's own, or one in English.
    public var message: String {
        if let message = gatewayError?.message { return message }
        switch self {
        case .signedOut: return "You are signed out."
        case .deviceLocked: return "Unlock the device first."
        case .storage: return "The session could not be stored on this device."
        case .network: return "There is no connection. Try again later."
        case .notPresent: return "You could not be recognised."
        default: return "The service is not available right now. Try again later."
        }
    }
}

extension GatehouseError: LocalizedError {
    public var errorDescription: String? { message }
}
