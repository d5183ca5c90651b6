internal import Encoding

/// An operation of Cognito's API that apps call for their own user, and how it wants to see the app client's secret.
///
/// Everything else, `Admin*` above all, is none of theirs.
package enum ClientOperation {
    /// Where the proof that a call comes from the app client's owner goes.
    package enum Proof {
        /// `SecretHash`, over `Username`.
        case secretHash
        /// `SECRET_HASH` among `AuthParameters`, over `USERNAME` there.
        case authParameters
        /// `SECRET_HASH` among `ChallengeResponses`, over `USERNAME` there.
        case challengeResponses
        /// The secret itself as `ClientSecret`.
        case clientSecret
        /// `AccessToken` is proof enough.
        case accessToken
        /// `AccessToken`, or the `Session` of a sign-in that is under way.
        case accessTokenOrSession
    }

    /// Nil for an operation that is not carried out.
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
