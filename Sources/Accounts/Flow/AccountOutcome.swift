package import Pipeline

/// The outcome of an account call.
package enum AccountOutcome: Sendable {
    /// Done, without a sign-in.
    case succeeded
    /// A refresh whose token was exchanged before: the client gets the unused successor again.
    case givenAgain
    /// Done, without a sign-in. The response shows the user, maybe after a change.
    case shown(AccountUser)
    /// Done, without a sign-in. The user has changed; the response does not show the user.
    case changed(AccountUser)
    /// The user has new tokens from `login` or `challenge`.
    case signedIn(AccountUser)
    /// The user's identity is proven, and the sign-in is forwarded to the backend that stores the users.
    case forwarded
    /// Cognito requires the response to a challenge first: the challenge's name.
    case challenged(String)
    /// The response's error, and the reason, which is more detailed than the client's message.
    case refused(GatewayError, reason: Reason)
}
