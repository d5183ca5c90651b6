package import Pipeline

/// The outcome of an account call.
package enum AccountOutcome: Sendable {
    /// Done, without a sign-in.
    case succeeded
    /// A refresh whose token was exchanged before, and whose successor nobody has used: the client has that once more.
    case givenAgain
    /// Done, without a sign-in. The response shows the user, maybe after a change.
    case shown(AccountUser)
    /// Done, without a sign-in: the user is another now, whom the response does not show.
    case changed(AccountUser)
    /// The user has new tokens: by `login`, or by `challenge`.
    case signedIn(AccountUser)
    /// The user has proven who they are, and the sign-in is on its way to the backend that keeps the users.
    case forwarded
    /// Cognito wants an answer first: the challenge's name.
    case challenged(String)
    /// The answer's error, and the reason, which says more than the client hears.
    case refused(GatewayError, reason: Reason)
}
