/// The proof, beside an access token, for a change of e-mail address or phone number.
package struct ContactChangeSettings: Sendable, Equatable {
    package enum Proof: String, Sendable, CaseIterable {
        /// The current password.
        case password
        /// A sign-in of a moment ago, or the current password.
        case recentSignIn = "recent_sign_in"
        /// Nothing: whoever has an access token can begin a change.
        case none
    }

    package var proof = Proof.password
    /// How long ago a sign-in may be to count as recent, in seconds.
    package var recentSignIn: Int64 = 300

    package init() {}
}
