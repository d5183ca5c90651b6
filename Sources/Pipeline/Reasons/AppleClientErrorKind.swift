/// The kinds of errors of calls of Apple's token endpoint. The raw values are reason codes.
package enum AppleClientErrorKind: String, Sendable, CaseIterable {
    /// The code or refresh token counts no more, or never did.
    case invalidGrant = "apple-invalid-grant"
    /// Apple does not take the gateway for what it says to be: its key, team, or an app's id is not right.
    case misconfigured = "apple-client-refused"
    /// It finds something else wrong with the call.
    case refused = "apple-call-refused"
    case unavailable = "apple-unavailable"
}
