/// The operations of Cognito's API that the gateway calls; the raw value is the operation's name on the wire.
package enum CognitoOperation: String, Sendable {
    case adminInitiateAuth = "AdminInitiateAuth"
    case adminRespondToAuthChallenge = "AdminRespondToAuthChallenge"
    case associateSoftwareToken = "AssociateSoftwareToken"
    case changePassword = "ChangePassword"
    case completeWebAuthnRegistration = "CompleteWebAuthnRegistration"
    case confirmDevice = "ConfirmDevice"
    case confirmForgotPassword = "ConfirmForgotPassword"
    case confirmSignUp = "ConfirmSignUp"
    case deleteUser = "DeleteUser"
    case deleteWebAuthnCredential = "DeleteWebAuthnCredential"
    case describeUserPoolClient = "DescribeUserPoolClient"
    case forgotPassword = "ForgotPassword"
    case getTokensFromRefreshToken = "GetTokensFromRefreshToken"
    case getUser = "GetUser"
    case getUserAttributeVerificationCode = "GetUserAttributeVerificationCode"
    case globalSignOut = "GlobalSignOut"
    case initiateAuth = "InitiateAuth"
    case listDevices = "ListDevices"
    case listWebAuthnCredentials = "ListWebAuthnCredentials"
    case resendConfirmationCode = "ResendConfirmationCode"
    case respondToAuthChallenge = "RespondToAuthChallenge"
    case revokeToken = "RevokeToken"
    case setUserMFAPreference = "SetUserMFAPreference"
    case signUp = "SignUp"
    case startWebAuthnRegistration = "StartWebAuthnRegistration"
    case updateDeviceStatus = "UpdateDeviceStatus"
    case updateUserAttributes = "UpdateUserAttributes"
    case verifySoftwareToken = "VerifySoftwareToken"
    case verifyUserAttribute = "VerifyUserAttribute"

    /// Whether the operation requires the signature of an AWS account.
    var isSigned: Bool {
        switch self {
        case .adminInitiateAuth, .adminRespondToAuthChallenge, .describeUserPoolClient: true
        default: false
        }
    }
}
