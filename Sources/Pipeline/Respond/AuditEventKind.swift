/// The events of the audit log, by their names there and in the settings.
package enum AuditEventKind: String, Sendable, CaseIterable {
    case signedIn = "signed_in"
    case signInFailed = "sign_in_failed"
    case signedOut = "signed_out"
    case sessionExpired = "session_expired"
    case registered
    case confirmed
    case passwordReset = "password_reset"
    case passwordChanged = "password_changed"
    case refreshed
    /// An app has its newest token once more, because it showed the one before and nobody has used the newest.
    case refreshGivenAgain = "refresh_given_again"
    case refreshReused = "refresh_reused"
    case lockedOut = "locked_out"
    case userDeleted = "user_deleted"
    case userExported = "user_exported"
    case userChanged = "user_changed"
    case emailChanged = "email_changed"
    case phoneNumberChanged = "phone_number_changed"
    case secondFactorsChanged = "second_factors_changed"
    case passkeyRegistered = "passkey_registered"
    case passkeyDeleted = "passkey_deleted"
    /// An operator has ended sessions, or the user has ended others than the own.
    case sessionsEnded = "sessions_ended"
    /// An operator has given a user another role, which ends their sessions.
    case roleChanged = "role_changed"
    /// An operator has locked a user out, or let them in again.
    case userDisabled = "user_disabled"
    case userEnabled = "user_enabled"
    /// An operator has reloaded the configuration.
    case configurationReloaded = "configuration_reloaded"
    /// An operator has taken the gateway out of its load balancer, or in again.
    case gatewayDrained = "gateway_drained"
    case gatewayDrainEnded = "gateway_drain_ended"
    /// The same with a server of an upstream.
    case serverDrained = "server_drained"
    case serverDrainEnded = "server_drain_ended"
    case logLevelChanged = "log_level_changed"
    case directCognito = "direct_cognito"
}
