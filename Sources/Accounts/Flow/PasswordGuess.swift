internal import Encoding
internal import Pipeline

/// A user's current password, right or wrong, in a call with the user's token.
struct PasswordGuess: Sendable {
    /// Cognito's internal name of the user.
    var username: String
    var subject: String
    /// The `origin_jti` of the token's sign-in; nil in a pool whose tokens have none.
    var session: String?

    init(by token: VerifiedToken) {
        username = token.username ?? token.subject
        subject = token.subject
        session = token.claims["origin_jti"]?.stringValue
    }
}
