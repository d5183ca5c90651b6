internal import Clocks
internal import Cognito
internal import Pipeline
internal import Telemetry

extension AuditEvent {
    /// Returns the audit events of an account call: none for reading a profile, and none for malformed requests.
    ///
    /// - Parameter locks: whether the call locks the account.
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
        case .signedIn, .forwarded: return [event(.signedIn)]
        case .challenged: return []
        case .givenAgain: return [event(.refreshGivenAgain)]
        case .succeeded, .shown, .changed: return kind(of: call.operation.effect).map { [event($0)] } ?? []
        case .refused(_, let reason):
            guard let kind = kind(ofRefused: call.operation, reason) else { return [] }
            return [event(kind, reason: reason.code)] + (locks ? [event(.lockedOut, reason: tooManyFailures)] : [])
        }
    }

    /// The reason of a lock that begins with this call.
    private static let tooManyFailures = "too-many-failures"

    private static func kind(of effect: AccountOperation.Effect) -> AuditEventKind? {
        switch effect {
        case .none: nil
        case .registered: .registered
        case .confirmed: .confirmed
        case .passwordReset: .passwordReset
        case .passwordChanged: .passwordChanged
        case .refreshed: .refreshed
        case .signedOut: .signedOut
        case .userDeleted: .userDeleted
        case .userExported: .userExported
        case .sessionsEnded: .sessionsEnded
        case .userChanged: .userChanged
        case .emailChanged: .emailChanged
        case .phoneNumberChanged: .phoneNumberChanged
        case .secondFactorsChanged: .secondFactorsChanged
        case .passkeyRegistered: .passkeyRegistered
        case .passkeyDeleted: .passkeyDeleted
        }
    }

    /// Returns nil for a refusal that is not an event: a malformed request was never tried.
    private static func kind(ofRefused operation: AccountOperation, _ reason: Reason) -> AuditEventKind? {
        guard !reason.isOfMalformedBody else { return nil }
        if operation.budget == .signIn { return reason.isLock ? .lockedOut : .signInFailed }
        // The current password can be guessed like at a sign-in.
        if operation.countsGuesses || operation.effect == .passwordChanged {
            return reason.isLock ? .lockedOut : reason.isOfPassword ? .signInFailed : nil
        }
        switch operation.effect {
        case .refreshed, .signedOut: break
        case .none, .registered, .confirmed, .passwordReset, .passwordChanged, .userDeleted, .userExported,
            .sessionsEnded, .userChanged, .emailChanged, .phoneNumberChanged, .secondFactorsChanged,
            .passkeyRegistered, .passkeyDeleted:
            return nil
        }
        switch reason.ofSession {
        case .reused, .usedByOtherDevice: return .refreshReused
        // A user who signs out intends the session to end.
        case .expired, .idle, .ended: return operation.effect == .refreshed ? .sessionExpired : nil
        case nil: return nil
        }
    }
}
