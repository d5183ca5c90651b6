/// The reason codes of account calls, of direct Cognito calls and of sessions: a closed list, for log, audit and metrics.
package enum AccountReasons {
    package static let all: [String] =
        own + sessions + AppleFault.allCases.map(\.rawValue) + AppleClientError.Kind.allCases.map(\.rawValue)
        + LimitReached.Cause.allCases.map(\.rawValue) + CognitoErrorKind.allCases.map(\.rawValue)

    /// Reasons of the gateway itself.
    private static let own = [
        "malformed-json", "content-type", "invalid-fields", "not-an-access-token", "invalid-refresh-token",
        "expired-refresh-token", "refresh-token-reused", "session-ended", "other-device", "invalid-challenge-session",
        "expired-challenge-session", "session-records-unavailable", "sealing-failed", "not-revoked",
        "attribute-not-writable",
    ]

    /// Reasons that concern the gateway's own sessions.
    private static let sessions = [
        "not-a-session", "session-too-old", "session-idle", "session-keys-unavailable", "session-not-signed",
        "role-conflict", "user-disabled",
    ]
}
