/// How far a caller has come in proving who they are, which decides what may be told.
enum CallStage: Sendable {
    /// With a name and a password, or nothing.
    case signIn
    /// With a right password: a challenge is answered.
    case challenge
    /// With a refresh token.
    case refresh
    /// With the code of a message, in place of a password.
    case oneTimeCode
    /// With another first factor than a password or a code.
    case firstFactor
    /// With an access token that the gateway has verified.
    case bearer
    /// As `bearer`, with a passkey to register or delete.
    case passkey
    /// As `bearer`, with the current password to prove.
    case passwordChange
    case registration
    /// As `bearer`, with the code of a message to a new address.
    case contactCode
    /// With a code that came by message, or should have.
    case code
    /// Asks for such a code.
    case delivery
}
