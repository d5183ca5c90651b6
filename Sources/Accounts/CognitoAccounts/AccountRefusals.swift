internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// How far a caller has come in proving who they are, which decides what may be told.
enum CallStage: Sendable {
    /// With a name and a password, or nothing.
    case signIn
    /// With a right password: a challenge is answered.
    case challenge
    /// With a refresh token.
    case refresh
    /// With an access token that the gateway has verified.
    case bearer
    /// As `bearer`, with the current password to prove.
    case passwordChange
    case registration
    /// As `bearer`, with the code of a message to a new address.
    case contactCode
    /// With a code that came by message, or should have.
    case code
    /// Asks for such a code.
    case delivery
}

/// The refusal for an error of Cognito's, by stage: the one table from provider errors to refusals.
///
/// Two rules decide it. Before the caller has proven who they are, nothing may tell whether a user exists. And what
/// is the gateway's own fault is never put to the caller as a wrong password.
enum AccountRefusals {
    /// The one message for everything that is wrong with name or password.
    static let badCredentials = "Incorrect email or password."

    /// A wrong password, or what must look like one.
    static var wrongCredentials: Refusal {
        .tokenInvalid(.notAuthorized, message: badCredentials, reason: .cognito(.badCredentials))
    }

    static func refusal(_ error: CognitoError, at stage: CallStage) -> Refusal {
        let refusal =
            switch stage {
            case .signIn: signIn(error)
            case .challenge: challenge(error)
            case .refresh: refresh(error)
            case .bearer: bearer(error)
            case .passwordChange: passwordChange(error)
            case .contactCode: contactCode(error)
            case .registration: registration(error)
            case .code: code(error)
            case .delivery: delivery(error)
            }
        return refusal ?? common(error)
    }

    /// The refusal that looks like a wrong password or code, where nothing may reveal that an address is registered;
    /// nil where the table's refusal stands.
    static func concealing(_ error: CognitoError, at stage: CallStage) -> Refusal? {
        let reason = Reason.cognito(error.kind)
        switch (stage, error.kind) {
        // The caller who has just registered the address knows its password, or that of a registration that was none.
        case (.signIn, .userNotConfirmed), (.signIn, .lockedOut):
            return .tokenInvalid(.notAuthorized, message: badCredentials, reason: reason)
        case (.code, .codeExpired): return Refusal(.codeMismatch, reason: reason)
        case (.code, .throttled) where error.isLimitOfUser: return Refusal(.codeMismatch, reason: reason)
        default: return nil
        }
    }

    private static func signIn(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        // Cognito says "disabled" also before it looks at the password, so on sign-in nothing is proven by it.
        case .badCredentials, .userNotFound, .userDisabled, .rejectedByTrigger, .invalidSession, .tokenRevoked,
            .tokenExpired, .tokenReused, .alreadyConfirmed:
            .tokenInvalid(.notAuthorized, message: badCredentials, reason: .cognito(error.kind))
        default: nil
        }
    }

    private static func challenge(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .invalidSession, .badCredentials, .userNotFound, .tokenRevoked, .tokenExpired, .tokenReused,
            .rejectedByTrigger, .deviceUnknown:
            endedSession(reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        case .codeMismatch, .codeExpired, .invalidPassword, .secondFactorMissing, .invalidParameter:
            invalidInput(error)
        default: nil
        }
    }

    /// A challenge that can't be answered any more.
    static func endedSession(reason: Reason) -> Refusal {
        .tokenInvalid(.notAuthorized, message: "This sign-in has ended. Sign in again.", reason: reason)
    }

    /// Whoever refreshes or asks for their profile holds a token, which is proof enough to hear "disabled".
    private static func refresh(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .badCredentials, .userNotFound, .rejectedByTrigger, .invalidSession, .tokenRevoked, .tokenExpired,
            .tokenReused, .deviceUnknown:
            .tokenInvalid(.tokenRefresh, reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        default: nil
        }
    }

    private static func bearer(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .tokenExpired: .tokenInvalid(.tokenExpired, reason: .cognito(error.kind))
        case .badCredentials, .userNotFound, .rejectedByTrigger, .invalidSession, .tokenRevoked, .tokenReused:
            .tokenInvalid(.notAuthorized, reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        case .codeMismatch, .codeExpired, .invalidPassword, .secondFactorMissing, .invalidParameter:
            invalidInput(error)
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        default: nil
        }
    }

    private static func passwordChange(_ error: CognitoError) -> Refusal? {
        guard error.kind == .badCredentials else { return bearer(error) }
        return .tokenInvalid(
            .notAuthorized, message: "The current password is not right.", reason: .cognito(error.kind))
    }

    /// Somebody else's address never got a code, and that must look like a wrong one. Only its reader hears whose it is.
    private static func contactCode(_ error: CognitoError) -> Refusal? {
        guard error.kind == .codeExpired else { return bearer(error) }
        return Refusal(.codeMismatch, reason: .cognito(error.kind))
    }

    private static func registration(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .rejectedByTrigger:
            Refusal(.accessDenied, message: "This account can not be registered.", reason: .cognito(error.kind))
        // The credentials of this error are the ones that the caller chose.
        case .invalidPassword, .invalidParameter, .badCredentials: invalidInput(error)
        default: nil
        }
    }

    /// A user who isn't there has no code that could be right.
    private static func code(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .codeMismatch, .userNotFound, .badCredentials, .userDisabled, .alreadyConfirmed, .userNotConfirmed,
            .rejectedByTrigger:
            Refusal(.codeMismatch, reason: .cognito(error.kind))
        case .codeExpired, .invalidPassword: invalidInput(error)
        // Only who has the code of an address's message hears that the address is taken.
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .invalidParameter:
            error.message.asciiLowercased.holds("password")
                ? invalidInput(error) : Refusal(.codeMismatch, reason: .cognito(error.kind))
        default: nil
        }
    }

    /// Not reached for a user who isn't there: see ``CognitoAccounts/sendCode(_:_:_:)``.
    private static func delivery(_ error: CognitoError) -> Refusal? {
        error.kind == .rejectedByTrigger ? Refusal(.accessDenied, reason: .cognito(error.kind)) : nil
    }

    /// Errors that the caller can correct.
    private static func invalidInput(_ error: CognitoError) -> Refusal {
        let reason = Reason.cognito(error.kind)
        switch error.kind {
        case .codeMismatch, .secondFactorMissing: return Refusal(.codeMismatch, reason: reason)
        case .codeExpired: return Refusal(.expiredCode, reason: reason)
        case .invalidPassword: return Refusal(.invalidPassword, message: error.passwordPolicy, reason: reason)
        default:
            if error.message.asciiLowercased.holds("password") { return Refusal(.invalidPassword, reason: reason) }
            return Refusal(.invalidParameter, reason: reason)
        }
    }

    /// Errors that mean the same at every stage.
    private static func common(_ error: CognitoError) -> Refusal {
        let reason = Reason.cognito(error.kind)
        switch error.kind {
        case .userNotConfirmed: return Refusal(.userNotConfirmed, reason: reason)
        case .passwordResetRequired: return Refusal(.passwordResetRequired, reason: reason)
        // Cognito's lock begins at one second and doubles up to 15 minutes; it does not say where it stands.
        case .lockedOut: return .retryLater(.tooManyRequests, after: 60, reason: reason)
        case .throttled: return .retryLater(.tooManyRequests, after: 5, reason: reason)
        default: return .retryLater(.identityProviderUnavailable, after: 5, reason: reason)
        }
    }
}

extension CognitoError {
    /// Whether it is a limit that Cognito has for each user.
    var isLimitOfUser: Bool { ["LimitExceededException", "TooManyFailedAttemptsException"].contains(ExactText(type)) }

    /// The password policy in Cognito's message; nil if the message is not plain text or holds more than the policy.
    var passwordPolicy: String? {
        let known = ["Password did not conform with policy: ", "Password does not conform to policy: "]
        guard let start = known.first(where: { message.begins(with: $0) }) else { return nil }
        let policy = String(decoding: message.utf8.dropFirst(start.utf8.count), as: UTF8.self)
        guard (1...200).contains(policy.utf8.count), policy.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            return nil
        }
        return "The password does not meet the policy: \(policy)\(policy.ends(with: ".") ? "" : ".")"
    }
}

extension CognitoErrorKind {
    /// The setting to correct when Cognito refuses the gateway itself; `nil` for other errors.
    var guiltySetting: String? {
        switch self {
        case .clientSecretRefused: "sign_in.cognito.client_secret"
        case .clientUnknown: "sign_in.cognito.client_id, or the issuer's region and pool"
        case .flowNotEnabled: "sign_in.cognito.flow, or the app client's authentication flows in Cognito"
        case .signatureRefused: "the AWS credentials of the gateway, or what they allow"
        case .credentialsMissing: "the AWS credentials of the gateway: environment, file, container or instance"
        case .poolMisconfigured: "the user pool's triggers, roles and message settings in Cognito"
        case .blockedByFirewall: "the web application firewall before the user pool"
        case .unsupportedOperation, .invalidParameter: "the user pool's and app client's settings in Cognito"
        default: nil
        }
    }
}
