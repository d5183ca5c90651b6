internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// The refusal for an error of Cognito's, by stage: the one table from provider errors to refusals.
///
/// Two rules decide it. Before the caller has proven who they are, nothing may tell whether a user exists. And what
/// is the gateway's own fault is never put to the caller as a wrong password.
enum AccountRefusals {
    /// The one message for everything that is wrong with name or password.
    static let badCredentials = "Incorrect email or password."

    /// The one message for everything that is wrong with a code, or with whom it is said to be of.
    static let badCode = "The code is not right, or has expired."

    /// A wrong password, or what must look like one.
    static func wrongCredentials(_ kind: CognitoErrorKind = .badCredentials) -> Refusal {
        .credentialsRefused(message: badCredentials, reason: .cognito(kind))
    }

    /// The settings that decide about refusals.
    struct Rules: Sendable {
        /// Nothing may reveal that an address is registered.
        var conceals = false
        /// Triggers' own messages are for clients.
        var showsTriggerMessages = true
    }

    static func refusal(_ error: CognitoError, at stage: CallStage, _ rules: Rules) -> Refusal {
        if error.kind == .rejectedByTrigger { return trigger(error, at: stage, rules) }
        if rules.conceals, let refusal = concealing(error, at: stage) { return refusal }
        let refusal: Refusal? =
            switch stage {
            case .signIn: signIn(error)
            case .challenge: challenge(error)
            case .refresh: refresh(error)
            case .oneTimeCode, .firstFactor: firstFactor(error, at: stage)
            case .bearer: bearer(error)
            case .passkey: passkey(error)
            case .passwordChange: passwordChange(error)
            case .contactCode: contactCode(error)
            case .registration: registration(error)
            case .code: code(error)
            // Not reached for a user who isn't there: see ``CognitoAccounts/sendCode(_:to:_:_:)``.
            case .delivery: nil
            }
        return refusal ?? common(error)
    }

    /// The refusal that looks like a wrong password, where nothing may reveal that an address is registered; nil where
    /// the table's refusal stands.
    private static func concealing(_ error: CognitoError, at stage: CallStage) -> Refusal? {
        guard stage == .signIn else { return nil }
        return switch error.kind {
        // The caller who has just registered the address knows its password, or that of a registration that was none.
        // A password that an administrator has reset is nobody's any more.
        case .userNotConfirmed, .passwordResetRequired: wrongCredentials(error.kind)
        default: nil
        }
    }

    /// A trigger that runs before anything is proven can tell by its refusal that there is an account.
    private static func trigger(_ error: CognitoError, at stage: CallStage, _ rules: Rules) -> Refusal {
        let refused = TriggerRefusal(error)
        if rules.conceals, !refused.followsProof {
            switch stage {
            case .signIn: return wrongCredentials(error.kind)
            case .code: return wrongCode(error.kind)
            case .oneTimeCode, .firstFactor: return failedFactor(at: stage)
            case .challenge, .refresh, .bearer, .passkey, .passwordChange, .registration, .contactCode, .delivery: break
            }
        }
        let message = rules.showsTriggerMessages ? refused.message : nil
        return Refusal(.rejectedByTrigger, message: message, reason: .cognito(error.kind))
    }

    /// Only existing accounts are disabled or locked at Cognito; see also ``CognitoAccounts/signInRefusal(of:_:_:)``.
    private static func signIn(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .badCredentials, .userNotFound, .userDisabled, .temporaryPasswordExpired, .lockedOut, .invalidSession,
            .tokenRevoked, .tokenExpired, .tokenReused, .alreadyConfirmed:
            wrongCredentials(error.kind)
        default: nil
        }
    }

    private static func challenge(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .invalidSession, .badCredentials, .userNotFound, .tokenRevoked, .tokenExpired, .tokenReused,
            .deviceUnknown:
            endedSession(reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        case .codeMismatch, .codeExpired, .invalidPassword, .secondFactorMissing, .invalidParameter:
            invalidInput(error)
        default: nil
        }
    }

    /// A first factor that failed, for whatever reason: nothing may tell whether there is such a user.
    static func failedFactor(at stage: CallStage) -> Refusal {
        stage == .oneTimeCode ? Refusal(.codeMismatch, reason: .cognito(.codeMismatch)) : wrongCredentials()
    }

    private static func firstFactor(_ error: CognitoError, at stage: CallStage) -> Refusal? {
        error.isOfAccount ? failedFactor(at: stage) : nil
    }

    private static func passkey(_ error: CognitoError) -> Refusal? {
        let refused: String? =
            switch ExactText(error.type) {
            case "WebAuthnChallengeNotFoundException": "belongs to options that have expired"
            case "WebAuthnCredentialNotSupportedException": "is of a kind that is not supported"
            case "WebAuthnOriginNotAllowedException", "WebAuthnRelyingPartyMismatchException",
                "WebAuthnClientMismatchException":
                "is for another app or website"
            default: nil
            }
        if let refused {
            return Refusal(.invalidParameter, fields: ["credential": refused], reason: .cognito(error.kind))
        }
        if ExactText(error.type) == "ResourceNotFoundException" {
            return Refusal(.notFound, message: "There is no such passkey.", reason: .cognito(.invalidParameter))
        }
        return bearer(error)
    }

    /// A challenge that can't be answered any more.
    static func endedSession(reason: Reason) -> Refusal {
        .credentialsRefused(message: "This sign-in has ended. Sign in again.", reason: reason)
    }

    /// Whoever refreshes or asks for their profile holds a token, which is proof enough to hear "disabled".
    private static func refresh(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .badCredentials, .userNotFound, .invalidSession, .tokenRevoked, .tokenExpired, .tokenReused,
            .deviceUnknown:
            .credentialsRefused(.tokenRefresh, reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        default: nil
        }
    }

    private static func bearer(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .tokenExpired: .tokenInvalid(.tokenExpired, reason: .cognito(error.kind))
        case .userNotFound, .tokenRevoked: .tokenInvalid(.notAuthorized, reason: .cognito(error.kind))
        // A client answers an invalid token by a refresh or a sign-out, which must not be for anything else.
        case .badCredentials, .invalidSession, .tokenReused: Refusal(.accessDenied, reason: .cognito(error.kind))
        case .userDisabled: Refusal(.userDisabled, reason: .cognito(error.kind))
        case .codeMismatch, .codeExpired, .invalidPassword, .secondFactorMissing, .invalidParameter:
            invalidInput(error)
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        default: nil
        }
    }

    private static func passwordChange(_ error: CognitoError) -> Refusal? {
        guard error.kind == .badCredentials else { return bearer(error) }
        return Refusal(
            .invalidParameter, message: "The current password is not right.",
            fields: ["current_password": "is not right"], reason: .cognito(error.kind))
    }

    /// Somebody else's address never got a code, and that must look like a wrong one. Only its reader hears whose it is.
    private static func contactCode(_ error: CognitoError) -> Refusal? {
        guard error.kind == .codeExpired else { return bearer(error) }
        return Refusal(.codeMismatch, reason: .cognito(error.kind))
    }

    private static func registration(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .signUpNotPermitted:
            Refusal(.accessDenied, message: "Registration is not open.", reason: .cognito(error.kind))
        // The credentials of this error are the ones that the caller chose.
        case .invalidPassword, .invalidParameter, .badCredentials: invalidInput(error)
        default: nil
        }
    }

    /// One refusal for all: Cognito's own responses, and its limits of each user, tell of the account and its state.
    private static func code(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .codeMismatch, .codeExpired, .userNotFound, .badCredentials, .userDisabled, .temporaryPasswordExpired,
            .alreadyConfirmed, .userNotConfirmed, .passwordResetRequired, .lockedOut, .deliveryFailed:
            wrongCode(error.kind)
        case .throttled where error.isLimitOfUser: wrongCode(error.kind)
        case .invalidPassword: invalidInput(error)
        // Only who has the code of an address's message hears that the address is taken.
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .invalidParameter:
            error.message.asciiLowercased.holds("password") ? invalidInput(error) : wrongCode(error.kind)
        default: nil
        }
    }

    static func wrongCode(_ kind: CognitoErrorKind) -> Refusal {
        Refusal(.codeMismatch, message: badCode, reason: .cognito(kind))
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
        case .temporaryPasswordExpired: return Refusal(.temporaryPasswordExpired, reason: reason)
        case .scopeMissing: return .scopeMissing(UserAttributeRule.scope, reason: reason)
        // Cognito's lock begins at one second and doubles up to 15 minutes; it does not say where it stands.
        case .lockedOut: return .retryLater(.tooManyRequests, after: 60, reason: reason)
        case .throttled: return .retryLater(.tooManyRequests, after: 5, reason: reason)
        default: return .retryLater(.identityProviderUnavailable, after: 5, reason: reason)
        }
    }
}
