/// The events of the audit log, by their names in the log and in the settings.
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
    /// An app received its newest token again, because it presented the previous one and the newest has not been used.
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
    /// An operator ended sessions, or a user ended sessions other than the current one.
    case sessionsEnded = "sessions_ended"
    /// An operator changed a user's role, which ends the user's sessions.
    case roleChanged = "role_changed"
    /// An operator disabled or enabled a user.
    case userDisabled = "user_disabled"
    case userEnabled = "user_enabled"
    /// An operator has reloaded the configuration.
    case configurationReloaded = "configuration_reloaded"
    /// An operator took the gateway out of its load balancer, or put it back.
    case gatewayDrained = "gateway_drained"
    case gatewayDrainEnded = "gateway_drain_ended"
    /// The same for a server of an upstream.
    case serverDrained = "server_drained"
    case serverDrainEnded = "server_drain_ended"
    case logLevelChanged = "log_level_changed"
    case directCognito = "direct_cognito"
}
