internal import Clocks
internal import Cognito
internal import Pipeline
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
            return [event(kind, reason: reason.code)] + (locks ? [event(.lockedOut, reason: tooManyFailures)] : [])
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

    /// Nil for a refusal that is no event: a malformed request was never tried.
    private static func kind(ofRefused operation: AccountOperation, _ reason: Reason) -> AuditEventKind? {
        guard !reason.isOfMalformedBody else { return nil }
        switch operation {
        case .login, .challenge:
            return reason == .cognito(.lockedOut) || reason == .limit(.lockout) ? .lockedOut : .signInFailed
        case .refresh:
            return switch reason.ofSession {
            case .reused, .heldByOther: .refreshReused
            case .expired, .idle, .ended: .sessionExpired
            case nil: nil
            }
        case .logout:
            return switch reason.ofSession {
            case .reused, .heldByOther: .refreshReused
            case .expired, .idle, .ended, nil: nil
            }
        case .register, .confirm, .resendCode, .forgotPassword, .resetPassword, .changePassword, .me, .updateMe,
            .deleteMe, .export, .setUpTOTP, .verifyTOTP, .removeTOTP:
            return nil
        }
    }
}
