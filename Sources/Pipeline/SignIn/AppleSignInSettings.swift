/// How users sign in with Apple.
package struct AppleSignInSettings: Sendable {
    /// Whether a sign-in must have a nonce that the gateway gave out.
    package enum ServerNonce: String, Sendable, CaseIterable {
        /// None is given out.
        case off
        case optional
        case required
    }

    /// The side that keeps users and sessions.
    package enum Mode: String, Sendable, CaseIterable {
        /// The gateway keeps the users, and a sign-in begins a session of its own.
        case terminate
        /// A backend does, and gets the verified sign-in.
        case forward
    }

    /// The role of an app's users, by its bundle or services id; empty: users have none. Else every app of the issuer's
    /// has one.
    package var roles: [String: String]
    package var roleConflict: RoleConflictMessages
    package var mode = Mode.terminate
    /// Whether a sign-in that names a user and proves nothing goes to the backend all the same, as nobody's.
    package var forwardsLegacy = false
    /// How long after its issue an identity token may be used, in seconds.
    package var maximumTokenAge: Int64 = 600
    package var serverNonce = ServerNonce.optional
    /// In seconds.
    package var serverNonceLifetime: Int64 = 300
    /// Further members of `user`.
    package var userFields = UserFields()

    /// All that `userFields` can come from: what a session's token has as well, so that each response shows the same.
    package static let userFieldSources = ["sub", "name", "email", "email_verified", "phone_number", "role"]

    package init(roles: [String: String], roleConflict: RoleConflictMessages) {
        self.roles = roles
        self.roleConflict = roleConflict
    }
}
