/// The effects of a new password on a user's sessions.
package struct PasswordChangeSettings: Sendable, Equatable {
    /// Whether a password change ends all sessions but the one that makes it.
    package var endsOtherSessions = true

    package init() {}
}
