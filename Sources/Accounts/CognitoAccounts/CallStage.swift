/// The proof of identity that a caller has given so far. It decides what a refusal may reveal.
enum CallStage: Sendable {
    /// A name with a password, or without any proof.
    case signIn
    /// A challenge after a right password.
    case challenge
    /// A refresh token.
    case refresh
    /// The code of a message, in place of a password.
    case oneTimeCode
    /// A first factor other than a password or a code.
    case firstFactor
    /// An access token that the gateway has verified.
    case bearer
    /// As `bearer`, to register or delete a passkey.
    case passkey
    /// As `bearer`, with the current password as the proof.
    case passwordChange
    case registration
    /// As `bearer`, with the code sent to a new address.
    case contactCode
    /// A code that was, or should have been, sent by message.
    case code
    /// A request for such a code.
    case delivery
}
