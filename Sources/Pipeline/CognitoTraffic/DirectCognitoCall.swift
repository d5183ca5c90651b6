internal import Encoding

/// The details for metrics of a request that is meant for Cognito and not for the backend.
package struct DirectCognitoCall: Sendable, Equatable {
    /// The operation's name, or `other` for an unknown one: a bounded set. Nil if only the address or the signature
    /// identified the request.
    package var operation: String?
    /// Product and version of the app from `User-Agent`, at most 64 bytes of `A-Za-z0-9._/-`, else `unknown`. The
    /// client chooses it, so code that counts by it must bound the number of values.
    package var application: String
    /// The path, if the request names a Cognito host and the path is one of a hosted domain.
    package var hostedPath: HostedPath?

    package init(operation: String?, application: String) {
        self.operation = operation
        self.application = application
    }

    /// The name of all unknown operations.
    package static let other = "other"

    /// The name for metrics: the operation itself if it is a known one of the user-pools API, else `other`.
    static func boundedOperation(_ name: Substring) -> String {
        guard name.utf8.count <= 64 else { return other }
        let name = ExactText(String(name))
        return knownOperations.contains(name) ? name.text : other
    }

    /// The app that a `User-Agent` names, in the format of ``application``.
    package static func application(fromUserAgent value: String?) -> String {
        value.flatMap { UserAgentApplication($0).name } ?? "unknown"
    }

    /// The operations of the user-pools API that apps, and tools with credentials, are known to call.
    private static let knownOperations: Set<ExactText> = [
        "AssociateSoftwareToken", "ChangePassword", "CompleteWebAuthnRegistration", "ConfirmDevice",
        "ConfirmForgotPassword", "ConfirmSignUp", "DeleteUser", "DeleteUserAttributes", "DeleteWebAuthnCredential",
        "ForgetDevice", "ForgotPassword", "GetDevice", "GetTokensFromRefreshToken", "GetUser",
        "GetUserAttributeVerificationCode", "GetUserAuthFactors", "GlobalSignOut", "InitiateAuth", "ListDevices",
        "ListWebAuthnCredentials", "ResendConfirmationCode", "RespondToAuthChallenge", "RevokeToken",
        "SetUserMFAPreference", "SetUserSettings", "SignUp", "StartWebAuthnRegistration", "UpdateAuthEventFeedback",
        "UpdateDeviceStatus", "UpdateUserAttributes", "VerifySoftwareToken", "VerifyUserAttribute",
        "AdminConfirmSignUp", "AdminCreateUser", "AdminDeleteUser", "AdminDisableUser", "AdminEnableUser",
        "AdminGetUser", "AdminInitiateAuth", "AdminResetUserPassword", "AdminRespondToAuthChallenge",
        "AdminSetUserPassword", "AdminUpdateUserAttributes", "AdminUserGlobalSignOut", "DescribeUserPool",
        "DescribeUserPoolClient", "ListUserPools", "ListUsers",
    ]
}
