/// The effects of a new password on a user's sessions.
package struct PasswordChangeSettings: Sendable, Equatable {
    /// Whether all sessions end but the one that changes the password.
    package var endsOtherSessions = true

    package init() {}
}
