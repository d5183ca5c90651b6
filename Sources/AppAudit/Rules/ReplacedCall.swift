/// An Amplify call or a Cognito operation, with the gateway's call that replaces it.
package struct ReplacedCall: Sendable {
    /// The names of the call in Amplify's libraries and in Cognito.
    package let names: [String]
    /// The gateway's call: method and path.
    package let request: String
    /// GatehouseClient's function in Swift notation; nil if the library has none.
    package let function: String?

    private init(_ names: String..., by request: String, _ function: String? = nil) {
        (self.names, self.request, self.function) = (names, request, function)
    }

    /// The replacement that findings in this language show.
    func replacement(in language: Language) -> String {
        guard language == .swift, let function else { return request }
        return "\(function) of GatehouseClient (\(request))"
    }

    /// The call with this name, ignoring case; nil if there is none.
    static func named(_ name: some Sequence<UInt8>) -> ReplacedCall? {
        byName[String(decoding: name.map(lowercased), as: UTF8.self)]
    }

    private static let byName: [String: ReplacedCall] = Dictionary(
        all.flatMap { call in call.names.map { ($0.lowercased(), call) } },
        uniquingKeysWith: { first, _ in first })

    package static let all: [ReplacedCall] = [
        Self("signUp", by: "POST /api/v1/auth/register", "register(_:password:fullName:attributes:clientMetadata:)"),
        Self("confirmSignUp", by: "POST /api/v1/auth/confirm", "confirm(_:code:password:)"),
        Self("resendSignUpCode", "resendConfirmationCode", by: "POST /api/v1/auth/resend-code", "resendCode(_:)"),
        Self(
            "signIn", "initiateAuth", "adminInitiateAuth", "authenticateUser", "initiate_auth", "admin_initiate_auth",
            by: "POST /api/v1/auth/login", "signIn(_:password:factor:rememberMe:clientMetadata:)"),
        Self(
            "confirmSignIn", "respondToAuthChallenge", "adminRespondToAuthChallenge", "respond_to_auth_challenge",
            by: "POST /api/v1/auth/challenge", "answer(_:with:)"),
        Self(
            "signInWithWebUI", "signInWithRedirect", "federatedSignIn", "signInWithSocialWebUI",
            by: "GET /api/v1/auth/oauth/authorize"),
        Self(
            "fetchAuthSession", "currentSession", "getTokensFromRefreshToken", "getSession", "refreshSession",
            by: "POST /api/v1/auth/refresh", "data(for:)"),
        Self(
            "getCurrentUser", "currentAuthenticatedUser", "fetchUserAttributes", "getUser", "currentUserInfo",
            by: "GET /api/v1/auth/me", "me()"),
        Self(
            "updateUserAttribute", "updateUserAttributes", "update", by: "PATCH /api/v1/auth/me",
            "update(name:attributes:)"),
        Self("resetPassword", "forgotPassword", by: "POST /api/v1/auth/forgot-password", "forgotPassword(_:)"),
        Self(
            "confirmResetPassword", "confirmForgotPassword", "forgotPasswordSubmit",
            by: "POST /api/v1/auth/reset-password", "resetPassword(_:code:newPassword:)"),
        Self("updatePassword", "changePassword", by: "POST /api/v1/auth/change-password", "changePassword(from:to:)"),
        Self("setUpTOTP", "associateSoftwareToken", by: "POST /api/v1/auth/mfa/totp", "setUpAuthenticator()"),
        Self(
            "verifyTOTPSetup", "verifySoftwareToken", by: "POST /api/v1/auth/mfa/totp/verify",
            "verifyAuthenticator(code:)"),
        Self("fetchMFAPreference", by: "GET /api/v1/auth/mfa", "secondFactors()"),
        Self(
            "updateMFAPreference", "setUserMFAPreference", by: "PATCH /api/v1/auth/mfa",
            "setSecondFactors(_:preferred:)"),
        Self("signOut", "globalSignOut", "revokeToken", by: "POST /api/v1/auth/logout", "signOut(everywhere:)"),
        Self("deleteUser", by: "DELETE /api/v1/auth/me", "deleteUser()"),
    ]
}
