/// The proof that a change of e-mail address or phone number requires in addition to an access token.
package struct ContactChangeSettings: Sendable, Equatable {
    package enum Proof: String, Sendable, CaseIterable {
        /// The current password.
        case password
        /// A recent sign-in, or the current password.
        case recentSignIn = "recent_sign_in"
        /// None: an access token is enough to begin a change.
        case none
    }

    package var proof = Proof.password
    /// The maximum age of a recent sign-in, in seconds.
    package var recentSignIn: Int64 = 300

    package init() {}
}
