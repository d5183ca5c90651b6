/// A call of Amplify or an operation of Cognito, with the gateway's call that replaces it.
package struct ReplacedCall: Sendable {
    /// The names of the call, as Amplify's libraries and Cognito spell them.
    package let names: [String]
    package let replacement: String

    private init(_ names: String..., by replacement: String) {
        self.names = names
        self.replacement = replacement
    }

    /// The replacement for a name, whatever its first letter's case.
    static func replacement(for name: some Sequence<UInt8>) -> String? {
        replacements[String(decoding: name.map(lowercased), as: UTF8.self)]
    }

    private static let replacements: [String: String] = Dictionary(
        all.flatMap { call in call.names.map { ($0.lowercased(), call.replacement) } },
        uniquingKeysWith: { first, _ in first })

    package static let all: [ReplacedCall] = [
        Self("signUp", by: "POST /api/v1/auth/register"),
        Self("confirmSignUp", by: "POST /api/v1/auth/confirm"),
        Self("resendSignUpCode", "resendConfirmationCode", by: "POST /api/v1/auth/resend-code"),
        Self(
            "signIn", "initiateAuth", "adminInitiateAuth", "authenticateUser", "initiate_auth", "admin_initiate_auth",
            by: "POST /api/v1/auth/login"),
        Self(
            "confirmSignIn", "respondToAuthChallenge", "adminRespondToAuthChallenge", "respond_to_auth_challenge",
            by: "POST /api/v1/auth/challenge"),
        Self(
            "signInWithWebUI", "signInWithRedirect", "federatedSignIn", "signInWithSocialWebUI",
            by: "GET /api/v1/auth/oauth/authorize"),
        Self(
            "fetchAuthSession", "currentSession", "getTokensFromRefreshToken", "getSession", "refreshSession",
            by: "POST /api/v1/auth/refresh"),
        Self(
            "getCurrentUser", "currentAuthenticatedUser", "fetchUserAttributes", "getUser", "currentUserInfo",
            by: "GET /api/v1/auth/me"),
        Self("updateUserAttribute", "updateUserAttributes", "update", by: "PATCH /api/v1/auth/me"),
        Self("resetPassword", "forgotPassword", by: "POST /api/v1/auth/forgot-password"),
        Self(
            "confirmResetPassword", "confirmForgotPassword", "forgotPasswordSubmit",
            by: "POST /api/v1/auth/reset-password"),
        Self("updatePassword", "changePassword", by: "POST /api/v1/auth/change-password"),
        Self("setUpTOTP", "associateSoftwareToken", by: "POST /api/v1/auth/mfa/totp"),
        Self("verifyTOTPSetup", "verifySoftwareToken", by: "POST /api/v1/auth/mfa/totp/verify"),
        Self("fetchMFAPreference", by: "GET /api/v1/auth/mfa"),
        Self("updateMFAPreference", "setUserMFAPreference", by: "PATCH /api/v1/auth/mfa"),
        Self("signOut", "globalSignOut", "revokeToken", by: "POST /api/v1/auth/logout"),
        Self("deleteUser", by: "DELETE /api/v1/auth/me"),
    ]
}
