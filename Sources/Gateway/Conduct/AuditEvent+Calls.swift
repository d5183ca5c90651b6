internal import Pipeline
internal import SignIn
internal import Telemetry

extension AuditEvent {
    /// The audit events of an account call. There are none for reading a profile, nor for malformed requests.
    ///
    /// - Parameter locks: whether the account is locked by it.
    static func events(of call: AccountCall, _ outcome: AccountOutcome, locks: Bool) -> [AuditEvent] {
        func event(_ kind: AuditEventKind, reason: String? = nil) -> AuditEvent {
            AuditEvent(
                kind, time: WallClock.milliseconds(), requestID: call.requestID, subject: call.subject,
                account: call.account,
                device: call.device.map { Device(id: $0.deviceID, platform: $0.platform, appVersion: $0.appVersion) },
                address: call.clientAddress,
                application: DirectCognitoCall.application(fromUserAgent: call.userAgent),
                operation: call.name, realUserStatus: call.realUserStatus, reason: reason)
        }
        switch outcome {
        case .signedIn: return [event(.signedIn)]
        case .challenged: return []
        // Proven here, and on its way to the backend that keeps the users.
        case .succeeded where call.sessionOperation == .apple && call.subject != nil: return [event(.signedIn)]
        case .succeeded: return kind(ofSuccessful: call.operation).map { [event($0)] } ?? []
        case .refused(_, let reason):
            guard let kind = kind(ofRefused: call.operation, reason) else { return [] }
            return [event(kind, reason: reason)] + (locks ? [event(.lockedOut, reason: tooManyFailures)] : [])
        }
    }

    /// Why an account is locked from now on.
    private static let tooManyFailures = "too-many-failures"

    private static func kind(ofSuccessful operation: AccountOperation) -> AuditEventKind? {
        switch operation {
        case .logout: .signedOut
        case .register: .registered
        case .confirm: .confirmed
        case .resetPassword: .passwordReset
        case .changePassword: .passwordChanged
        case .refresh: .refreshed
        case .deleteMe: .userDeleted
        case .export: .userExported
        case .login, .challenge, .resendCode, .forgotPassword, .me, .updateMe, .setUpTOTP, .verifyTOTP, .removeTOTP: nil
        }
    }

    /// The reasons of requests that were malformed, and therefore never tried.
    private static let malformed: Set<String> = ["invalid-fields", "malformed-json", "content-type", "body-too-large"]

    private static func kind(ofRefused operation: AccountOperation, _ reason: String) -> AuditEventKind? {
        guard !malformed.contains(reason) else { return nil }
        switch operation {
        case .login, .challenge:
            return reason == CognitoErrorKind.lockedOut.rawValue || reason == LimitReached.Cause.lockout.rawValue
                ? .lockedOut : .signInFailed
        case .refresh:
            if reused.contains(reason) { return .refreshReused }
            return ended.contains(reason) ? .sessionExpired : nil
        case .logout:
            return reused.contains(reason) ? .refreshReused : nil
        default:
            return nil
        }
    }

    /// The reasons for refusing a token that someone else may have.
    private static let reused: Set<String> = [
        "refresh-token-reused", "other-device", CognitoErrorKind.tokenReused.rawValue,
    ]

    /// The reasons for refusing a session that has ended.
    private static let ended: Set<String> = [
        "expired-refresh-token", "session-ended", "session-too-old", "session-idle",
        CognitoErrorKind.tokenExpired.rawValue,
        CognitoErrorKind.tokenRevoked.rawValue,
        CognitoErrorKind.badCredentials.rawValue, CognitoErrorKind.userNotFound.rawValue,
    ]
}
