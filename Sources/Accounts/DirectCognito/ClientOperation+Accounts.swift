internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    /// A change of attributes for which a code is sent to the new address. No endpoint has it.
    fileprivate static let updateAddress = AccountOperation(
        "update-address", .patch, budget: .messages, effect: .userChanged, metricsName: updateMe.metricsName)
}

extension ClientOperation {
    /// The most similar one of the gateway's own calls. Its limits apply, and it names the call in audit and metrics.
    ///
    /// - Parameters:
    ///   - attribute: the one that the call is about.
    ///   - maySendCode: as ``TranslatedCall/maySendCode``.
    static func accountOperation(
        of operation: String, attribute: String? = nil, maySendCode: Bool = false
    ) -> AccountOperation {
        let isPhone = attribute.map { ExactText($0) } == ExactText(PhoneAttribute.attribute)
        switch ExactText(operation) {
        case "VerifyUserAttribute": return isPhone ? PhoneAttribute.verify : EmailAttribute.verify
        case "GetUserAttributeVerificationCode": return isPhone ? PhoneAttribute.resend : EmailAttribute.resend
        case "UpdateUserAttributes" where maySendCode: return .updateAddress
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
        "SetUserSettings": .setSecondFactors,
        "GetUserAuthFactors": .secondFactors,
        "StartWebAuthnRegistration": .passkeyOptions,
        "CompleteWebAuthnRegistration": .registerPasskey,
        "ListWebAuthnCredentials": .passkeys,
        "DeleteWebAuthnCredential": .deletePasskey,
        // Devices are no part of the profile, and change nothing in it.
        "ConfirmDevice": .me,
        "ForgetDevice": .me,
        "GetDevice": .me,
        "ListDevices": .me,
        "UpdateDeviceStatus": .me,
    ]
}
