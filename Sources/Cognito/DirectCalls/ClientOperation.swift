internal import Encoding

/// The operations of Cognito's API that apps call for their own user, and how each takes the app client's secret.
///
/// All other operations, `Admin*` in particular, are refused.
package enum ClientOperation {
    /// The member in which a call proves that it comes from the app client's owner.
    package enum Proof {
        /// `SecretHash`, computed over `Username`.
        case secretHash
        /// `SECRET_HASH` in `AuthParameters`, computed over their `USERNAME`.
        case authParameters
        /// `SECRET_HASH` in `ChallengeResponses`, computed over their `USERNAME`.
        case challengeResponses
        /// The secret itself as `ClientSecret`.
        case clientSecret
        /// `AccessToken`, which is sufficient.
        case accessToken
        /// `AccessToken`, or the `Session` of a sign-in in progress.
        case accessTokenOrSession
    }

    /// Returns nil for an operation that the gateway refuses.
    package static func proof(of operation: String) -> Proof? { proofs[ExactText(operation)] }

    private static let proofs: [ExactText: Proof] = [
        "SignUp": .secretHash,
        "ConfirmSignUp": .secretHash,
        "ResendConfirmationCode": .secretHash,
        "ForgotPassword": .secretHash,
        "ConfirmForgotPassword": .secretHash,
        "InitiateAuth": .authParameters,
        "RespondToAuthChallenge": .challengeResponses,
        "GetTokensFromRefreshToken": .clientSecret,
        "RevokeToken": .clientSecret,
        "AssociateSoftwareToken": .accessTokenOrSession,
        "VerifySoftwareToken": .accessTokenOrSession,
        "ChangePassword": .accessToken,
        "ConfirmDevice": .accessToken,
        "CompleteWebAuthnRegistration": .accessToken,
        "DeleteUser": .accessToken,
        "DeleteUserAttributes": .accessToken,
        "DeleteWebAuthnCredential": .accessToken,
        "ForgetDevice": .accessToken,
        "GetDevice": .accessToken,
        "GetUser": .accessToken,
        "GetUserAttributeVerificationCode": .accessToken,
        "GetUserAuthFactors": .accessToken,
        "GlobalSignOut": .accessToken,
        "ListDevices": .accessToken,
        "ListWebAuthnCredentials": .accessToken,
        "SetUserMFAPreference": .accessToken,
        "SetUserSettings": .accessToken,
        "StartWebAuthnRegistration": .accessToken,
        "UpdateDeviceStatus": .accessToken,
        "UpdateUserAttributes": .accessToken,
        "VerifyUserAttribute": .accessToken,
    ]
}
