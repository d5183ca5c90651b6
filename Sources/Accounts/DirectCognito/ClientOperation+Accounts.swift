internal import Cognito
internal import Encoding

extension ClientOperation {
    /// The most similar one of the gateway's own calls. Its limits apply, and it names the call in audit and metrics.
    static func accountOperation(of operation: String) -> AccountOperation {
        nearest[ExactText(operation)] ?? .updateMe
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
    ]
}
