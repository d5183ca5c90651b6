/// The flow that proves a password to Cognito.
package enum SignInFlow: String, Sendable, CaseIterable {
    /// `USER_PASSWORD_AUTH`: Cognito gets the password.
    case password
    /// `USER_SRP_AUTH`: Cognito gets a proof of it, so that the app client can keep password sign-in off.
    case srp
    /// `ADMIN_USER_PASSWORD_AUTH`: Cognito gets the password in a call that an AWS account signs.
    case admin
}
