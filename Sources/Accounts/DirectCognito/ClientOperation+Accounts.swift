internal import Cognito
internal import Encoding

extension ClientOperation {
    /// The most similar one of the gateway's own calls. Its limits apply, and it names the call in audit and metrics.
    ///
    /// - Parameter attribute: the one that the call is about.
    static func accountOperation(of operation: String, attribute: String? = nil) -> AccountOperation {
        let isPhone = attribute.map { ExactText($0) } == ExactText(PhoneAttribute.attribute)
        switch ExactText(operation) {
        case "VerifyUserAttribute": return isPhone ? PhoneAttribute.verify : EmailAttribute.verify
        case "GetUserAttributeVerificationCode": return isPhone ? PhoneAttribute.resend : EmailAttribute.resend
        case let operation: return nearest[operation] ?? .updateMe
        }
    }

    private static let nearest: [ExactText: AccountOperation] = [
        "SignUp": .register,
        "ConfirmSignUp": .confirm,
        "ResendConfirmationCode": .resendCode,
        "ForgotPassword": .forgotPassword,
        "ConfirmForgotPassword": .resetPassword,
        "InitiateAuth": .login,
        "RespondToAuthChallenge": .challenge,
        "GetTokensFromRefreshToken": .refresh,
        "RevokeToken": .logout,
        "GlobalSignOut": .logout,
        "ChangePassword": .changePassword,
        "DeleteUser": .deleteMe,
        "GetUser": .me,
        "AssociateSoftwareToken": .setUpTOTP,
        "VerifySoftwareToken": .verifyTOTP,
        "SetUserMFAPreference": .setSecondFactors,
        "GetUserAuthFactors": .secondFactors,
        "StartWebAuthnRegistration": .passkeyOptions,
        "CompleteWebAuthnRegistration": .registerPasskey,
        "ListWebAuthnCredentials": .passkeys,
        "DeleteWebAuthnCredential": .deletePasskey,
        "GetDevice": .me,
        "ListDevices": .me,
    ]
}
