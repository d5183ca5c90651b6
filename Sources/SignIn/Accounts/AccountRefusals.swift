internal import HTTPTypes
internal import Pipeline

/// What a failure of Cognito's means to the client, by endpoint: the one table from provider errors to refusals.
///
/// Two rules decide it. Before the caller has proven who they are, nothing may tell whether a user exists. And what
/// is the gateway's own fault is never put to the caller as a wrong password.
enum AccountRefusals {
    /// The one message for everything that is wrong with name or password.
    static let badCredentials = "Incorrect email or password."

    static func login(_ kind: CognitoErrorKind) -> Refusal {
        switch kind {
        // Cognito says "disabled" also before it looks at the password, so on sign-in nothing is proven by it.
        case .badCredentials, .userNotFound, .userDisabled, .rejectedByTrigger, .invalidSession, .tokenRevoked,
            .tokenExpired, .tokenReused:
            .tokenInvalid(.notAuthorized, message: badCredentials, reason: kind.rawValue)
        default: common(kind)
        }
    }

    /// Whoever refreshes or asks for their profile holds a token, which is proof enough to hear "disabled".
    static func refresh(_ kind: CognitoErrorKind) -> Refusal {
        switch kind {
        case .badCredentials, .userNotFound, .rejectedByTrigger, .invalidSession, .tokenRevoked, .tokenExpired,
            .tokenReused:
            .tokenInvalid(.tokenRefresh, reason: kind.rawValue)
        case .userDisabled: Refusal(.userDisabled, reason: kind.rawValue)
        default: common(kind)
        }
    }

    static func me(_ kind: CognitoErrorKind) -> Refusal {
        switch kind {
        case .tokenExpired: .tokenInvalid(.tokenExpired, reason: kind.rawValue)
        case .badCredentials, .userNotFound, .rejectedByTrigger, .invalidSession, .tokenRevoked, .tokenReused:
            .tokenInvalid(.notAuthorized, reason: kind.rawValue)
        case .userDisabled: Refusal(.userDisabled, reason: kind.rawValue)
        default: common(kind)
        }
    }

    /// What means the same everywhere.
    private static func common(_ kind: CognitoErrorKind) -> Refusal {
        switch kind {
        case .userNotConfirmed: Refusal(.userNotConfirmed, reason: kind.rawValue)
        case .passwordResetRequired: Refusal(.passwordResetRequired, reason: kind.rawValue)
        // Cognito's lock begins at one second and doubles up to 15 minutes; it does not say where it stands.
        case .lockedOut: .retryLater(.tooManyRequests, after: 60, reason: kind.rawValue)
        case .throttled: .retryLater(.tooManyRequests, after: 5, reason: kind.rawValue)
        default: .retryLater(.identityProviderUnavailable, after: 5, reason: kind.rawValue)
        }
    }
}

extension CognitoErrorKind {
    /// What has to be set right when Cognito refuses the gateway itself; `nil` for other failures.
    var guiltySetting: String? {
        switch self {
        case .clientSecretRefused: "sign_in.cognito.client_secret"
        case .clientUnknown: "sign_in.cognito.client_id, or the issuer's region and pool"
        case .flowNotEnabled: "the app client's authentication flows in Cognito"
        case .poolMisconfigured: "the user pool's triggers, roles and message settings in Cognito"
        case .blockedByFirewall: "the web application firewall before the user pool"
        case .unsupportedOperation, .invalidParameter: "the user pool's and app client's settings in Cognito"
        default: nil
        }
    }
}
