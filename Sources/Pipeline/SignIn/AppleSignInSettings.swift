/// The settings of Sign in with Apple.
package struct AppleSignInSettings: Sendable {
    /// Whether a sign-in must have a nonce that the gateway issued.
    package enum ServerNonce: String, Sendable, CaseIterable {
        /// The gateway issues no nonces.
        case off
        case optional
        case required
    }

    /// The side that stores users and sessions.
    package enum Mode: String, Sendable, CaseIterable {
        /// The gateway stores the users, and a sign-in begins a session of its own.
        case terminate
        /// A backend stores them and receives the verified sign-in.
        case forward
    }

    /// The role of an app's users, by its bundle or services ID. Empty: users have no roles; otherwise every app of the
    /// issuer has one.
    package var roles: [String: String]
    package var roleConflict: RoleConflictMessages
    package var mode = Mode.terminate
    /// Whether a sign-in that names a user without proof is forwarded to the backend nevertheless, without an identity.
    package var forwardsLegacy = false
    /// The maximum age of an identity token, in seconds.
    package var maximumTokenAge: Int64 = 600
    package var serverNonce = ServerNonce.optional
    /// In seconds.
    package var serverNonceLifetime: Int64 = 300
    /// Further members of `user`.
    package var userFields = UserFields()

    /// The sources for `userFields`: claims that a session's token has as well, so that each response shows the same.
    package static let userFieldSources = ["sub", "name", "email", "email_verified", "phone_number", "role"]

    package init(roles: [String: String], roleConflict: RoleConflictMessages) {
        self.roles = roles
        self.roleConflict = roleConflict
    }
}
