internal import Encoding
internal import Pipeline

/// A user's current password that a call with a token of the user's shows, right or wrong.
struct PasswordGuess: Sendable {
    /// Cognito's own name for the user.
    var username: String
    var subject: String
    /// The sign-in that the token is of: its `origin_jti`. Nil in a pool whose tokens have none.
    var session: String?

    init(by token: VerifiedToken) {
        username = token.username ?? token.subject
        subject = token.subject
        session = token.claims["origin_jti"]?.stringValue
    }
}
