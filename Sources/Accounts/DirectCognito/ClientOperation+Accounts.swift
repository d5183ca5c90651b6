internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountOperation {
    /// A change of attributes that sends a code to the new address. It has no endpoint.
    fileprivate static let updateAddress = AccountOperation(
        "update-address", .patch, budget: .messages, effect: .userChanged, metricsName: updateMe.metricsName)
}

extension ClientOperation {
    /// Returns the most similar of the gateway's own operations. Its limits apply, and it names the call in audit and
    /// metrics.
    ///
    /// - Parameters:
    ///   - attribute: the attribute that the call is about; nil if there is none.
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
        // Devices are not part of the profile, and these calls do not change it.
        "ConfirmDevice": .me,
        "ForgetDevice": .me,
        "GetDevice": .me,
        "ListDevices": .me,
        "UpdateDeviceStatus": .me,
    ]
}
