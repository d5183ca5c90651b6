/// The kinds of errors of Apple's token endpoint. The raw values are reason codes.
package enum AppleClientErrorKind: String, Sendable, CaseIterable {
    /// The code or refresh token is no longer valid, or never was.
    case invalidGrant = "apple-invalid-grant"
    /// Apple does not recognise the gateway as the client: its key, its team or an app's ID is wrong.
    case misconfigured = "apple-client-refused"
    /// Apple refuses the call for another reason.
    case refused = "apple-call-refused"
    case unavailable = "apple-unavailable"
}
