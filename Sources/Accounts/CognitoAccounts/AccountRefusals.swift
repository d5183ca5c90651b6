internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

/// The refusals for Cognito's errors, by stage: the one table from provider errors to refusals.
///
/// Two rules decide. Before the caller has proven their identity, nothing may reveal whether a user exists. And an
/// error of the gateway or its configuration is never reported as a wrong password.
enum AccountRefusals {
    /// The message for every error in name or password.
    static let badCredentials = "Incorrect email or password."

    /// The message for every error in a code, or in the user that it is given for.
    static let badCode = "The code is not right, or has expired."

    /// Returns the refusal of a wrong password, or of an error that must look like one.
    static func wrongCredentials(_ kind: CognitoErrorKind = .badCredentials) -> Refusal {
        .credentialsRefused(message: badCredentials, reason: .cognito(kind))
    }

    /// The settings that decide on refusals.
    struct Rules: Sendable {
        /// Whether responses must not reveal that an address is registered.
        var conceals = false
        /// Whether clients get the triggers' own messages.
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
            // Not reached for a user who does not exist: see ``CognitoAccounts/sendCode(_:to:_:_:)``.
            case .delivery: nil
            }
        return refusal ?? common(error)
    }

    /// Returns the refusal that looks like a wrong password, if responses must not reveal that an address is
    /// registered; nil if the table's refusal applies.
    private static func concealing(_ error: CognitoError, at stage: CallStage) -> Refusal? {
        guard stage == .signIn else { return nil }
        return switch error.kind {
        // The caller who has just registered an address knows the password of that registration: these errors would
        // tell a new account from an address that was already taken. A password that an administrator has reset belongs
        // to nobody any more.
        case .userNotConfirmed, .passwordResetRequired: wrongCredentials(error.kind)
        default: nil
        }
    }

    /// Returns the refusal for a trigger's error. A trigger that runs before anything is proven can reveal that the
    /// account exists.
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

    /// Returns the refusal at the sign-in; nil for the common one. Only existing accounts can be disabled or locked at
    /// Cognito; see also ``CognitoAccounts/signInRefusal(of:_:_:)``.
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

    /// Returns the refusal of a failed first factor, for any reason: nothing may reveal whether the user exists.
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

    /// Returns the refusal of a challenge that can no longer be answered.
    static func endedSession(reason: Reason) -> Refusal {
        .credentialsRefused(message: "This sign-in has ended. Sign in again.", reason: reason)
    }

    /// Returns the refusal of a refresh; nil for the common one. A caller who refreshes or asks for their profile holds
    /// a token, which is sufficient proof to report "disabled".
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
        // Clients respond to an invalid token with a refresh or a sign-out, which no other error may cause.
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

    /// Returns the refusal of a code for a new address. An address of another user never got a code, which must look
    /// like a wrong code. Only the recipient of the code learns that the address is taken.
    private static func contactCode(_ error: CognitoError) -> Refusal? {
        guard error.kind == .codeExpired else { return bearer(error) }
        return Refusal(.codeMismatch, reason: .cognito(error.kind))
    }

    private static func registration(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .signUpNotPermitted:
            Refusal(.accessDenied, message: "Registration is not open.", reason: .cognito(error.kind))
        // This error is about the credentials that the caller chose.
        case .invalidPassword, .invalidParameter, .badCredentials: invalidInput(error)
        default: nil
        }
    }

    /// Returns one refusal for all errors: Cognito's own responses, and its per-user limits, reveal the account and its
    /// state.
    private static func code(_ error: CognitoError) -> Refusal? {
        switch error.kind {
        case .codeMismatch, .codeExpired, .userNotFound, .badCredentials, .userDisabled, .temporaryPasswordExpired,
            .alreadyConfirmed, .userNotConfirmed, .passwordResetRequired, .lockedOut, .deliveryFailed:
            wrongCode(error.kind)
        case .throttled where error.isLimitOfUser: wrongCode(error.kind)
        case .invalidPassword: invalidInput(error)
        // Only a caller with the code sent to the address learns that the address is taken.
        case .usernameExists: Refusal(.usernameExists, reason: .cognito(error.kind))
        case .invalidParameter:
            error.message.asciiLowercased.holds("password") ? invalidInput(error) : wrongCode(error.kind)
        default: nil
        }
    }

    static func wrongCode(_ kind: CognitoErrorKind) -> Refusal {
        Refusal(.codeMismatch, message: badCode, reason: .cognito(kind))
    }

    /// Returns the refusal of errors that the caller can correct.
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

    /// Returns the refusal of errors with the same meaning at every stage.
    private static func common(_ error: CognitoError) -> Refusal {
        let reason = Reason.cognito(error.kind)
        switch error.kind {
        case .userNotConfirmed: return Refusal(.userNotConfirmed, reason: reason)
        case .passwordResetRequired: return Refusal(.passwordResetRequired, reason: reason)
        case .temporaryPasswordExpired: return Refusal(.temporaryPasswordExpired, reason: reason)
        case .scopeMissing: return .scopeMissing(UserAttributeRule.scope, reason: reason)
        // Cognito's lock starts at one second and doubles up to 15 minutes; Cognito does not report its current length.
        case .lockedOut: return .retryLater(.tooManyRequests, after: 60, reason: reason)
        case .throttled: return .retryLater(.tooManyRequests, after: 5, reason: reason)
        default: return .retryLater(.identityProviderUnavailable, after: 5, reason: reason)
        }
    }
}
