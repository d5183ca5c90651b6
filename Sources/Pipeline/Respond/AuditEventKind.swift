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
    case refreshReused = "refresh_reused"
    case lockedOut = "locked_out"
    case userDeleted = "user_deleted"
    case userExported = "user_exported"
    case directCognito = "direct_cognito"
}
