/// The reason codes of account calls and of direct Cognito calls: a closed list, for log, audit and metrics.
package enum AccountReasons {
    package static let all: [String] =
        own + LimitReached.Cause.allCases.map(\.rawValue) + CognitoErrorKind.allCases.map(\.rawValue)

    /// What the gateway finds itself.
    private static let own = [
        "malformed-json", "content-type", "invalid-fields", "not-an-access-token", "invalid-refresh-token",
        "expired-refresh-token", "refresh-token-reused", "session-ended", "other-device", "invalid-challenge-session",
        "expired-challenge-session", "session-records-unavailable", "sealing-failed", "not-revoked",
    ]
}
