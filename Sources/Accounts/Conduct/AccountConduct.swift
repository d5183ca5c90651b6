internal import Clocks
internal import Cognito
internal import Locking
package import Pipeline
package import Telemetry

/// Observes account calls. It applies the limits before each call. After the call it notifies the backend, the limits
/// and the audit log, in this order: a call that the backend must know of and does not is no success to the others.
package final class AccountConduct: AccountObserver {
    private let limits: AccountLimits
    private let audit: AuditTrail
    /// Nil where no backend is told.
    private let sync: UserSync?
    private let tally: AccountTally
    private let admitted = Locked<[UInt64: AdmittedCall]>([:])

    package init(limits: AccountLimits, audit: AuditTrail, sync: UserSync?, tally: AccountTally) {
        self.tally = tally
        self.limits = limits
        self.audit = audit
        self.sync = sync
    }

    package func admit(_ call: AccountCall) async throws(Refusal) {
        do {
            let through = try await limits.admit(LimitedCall(call))
            admitted.withLock { $0[call.serial] = through }
        } catch {
            throw .retryLater(.tooManyRequests, after: error.retryAfter, reason: .limit(error.cause))
        }
    }

    package func identified(_ call: AccountCall, as username: String?) async -> Int? {
        guard var through = through(call) else { return nil }
        let account = username.map { LimitedCall.user($0, in: call.poolID) }
        let reached = await limits.identify(&through, LimitedCall(call), as: account)
        note(through, of: call)
        return reached?.retryAfter
    }

    private func through(_ call: AccountCall) -> AdmittedCall? { admitted.withLock { $0[call.serial] } }

    private func note(_ through: AdmittedCall, of call: AccountCall) { admitted.withLock { $0[call.serial] = through } }

    package func ended(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) {
        var told = outcome
        var refusal: Refusal?
        do {
            try await sync?.tell(call, outcome)
        } catch {
            refusal = error
            told = .refused(error.error, reason: error.reason)
        }
        tally.count(AccountTally.Key(call.operation, told))
        if let session = call.session, let end = SessionLengths.End(call.operation, told) {
            tally.sessions.ended(session.id, by: end, after: WallClock.seconds() - session.beganAt)
        }
        let locks = await settle(call, outcome)
        if locks { tally.countLockout() }
        for event in AuditEvent.events(of: call, told, locks: locks) {
            // The account may be locked where what was typed is not: waiting for one more write would tell.
            if locks, event.kind == .lockedOut { audit.recordWithoutWaiting(event) } else { await audit.record(event) }
        }
        if let refusal { throw refusal }
    }

    /// - Returns: whether the account is locked by it.
    private func settle(_ call: AccountCall, _ outcome: AccountOutcome) async -> Bool {
        let through = admitted.withLock { $0.removeValue(forKey: call.serial) }
        guard let through else { return false }
        switch outcome {
        case .signedIn(let user):
            await limits.succeeded(
                through, LimitedCall(call), as: LimitedCall.user(user.username, in: call.poolID))
        case .refused(let error, let reason) where reason.isGuess(refusedWith: error):
            return await limits.failed(through)
        case .succeeded where call.operation == .resetPassword:
            limits.ended(through)
            // The code was sent to the user, so its holder is the user.
            if let account = LimitedCall.account(of: call) { await limits.unlock(account: account) }
        default:
            limits.ended(through)
        }
        return false
    }
}

extension AccountTally.Key {
    /// The outcomes of account calls in ordinary operation.
    package static let expected: [Self] = AccountOperation.allCases.flatMap { operation in
        let challenges = operation == .login || operation == .challenge
        return [Self(operation: operation.rawValue, result: "success")]
            + (challenges ? [Self(operation: operation.rawValue, result: "challenge")] : [])
            + operation.usualRefusals.map { Self(operation: operation.rawValue, result: "refused", reason: $0) }
    }

    init(_ operation: AccountOperation, _ outcome: AccountOutcome) {
        switch outcome {
        case .succeeded, .signedIn: self.init(operation: operation.rawValue, result: "success")
        case .challenged: self.init(operation: operation.rawValue, result: "challenge")
        case .refused(_, let reason):
            self.init(operation: operation.rawValue, result: "refused", reason: reason)
        }
    }
}

extension SessionLengths.End {
    /// Nil for what ends no session, or finds none ended.
    init?(_ operation: AccountOperation, _ outcome: AccountOutcome) {
        switch (operation, outcome) {
        case (.logout, .succeeded): self = .signOut
        case (.deleteMe, .succeeded): self = .deletion
        case (.refresh, .refused(_, let reason)): self.init(reason: reason)
        default: return nil
        }
    }

    private init?(reason: Reason) {
        switch reason.ofSession {
        case .expired: self = .expiry
        case .idle: self = .idle
        case .reused: self = .reuse
        case .ended: self = .revocation
        case .heldByOther, nil: return nil
        }
    }
}

extension LimitedCall {
    init(_ call: AccountCall) {
        self.init(
            budget: call.operation.budget, account: Self.account(of: call),
            // A device is proven by a sign-in from it, and counts at a sign-in: other calls may name any.
            device: call.operation.budget == .signIn ? call.device?.deviceID : nil,
            provenDevice: call.provenDevice, unknownStep: call.unknownStep, clientAddress: call.clientAddress)
    }

    /// The account itself. A name that is typed never is it: else one who types a `sub` would learn of the user's lock.
    ///
    /// - Parameter username: Cognito's own name for the user.
    static func user(_ username: String, in poolID: String) -> String { "\(poolID)/user/\(username)" }

    /// Two pools may have users of one name.
    static func account(of call: AccountCall) -> String? {
        if let account = call.account { return "\(call.poolID)/account/\(account)" }
        if let token = call.tokenDigest { return "\(call.poolID)/token/\(token)" }
        return call.subject.map { "\(call.poolID)/subject/\($0)" }
    }
}

extension AccountOperation {
    /// The reasons that it is refused for where nothing is out of order but what the user does, how often, or the way to
    /// Cognito.
    fileprivate var usualRefusals: [Reason] {
        let limits: [LimitCause] = [.address, .account, .global] + (budget == .signIn ? [.lockout] : [])
        let kinds: [CognitoErrorKind] =
            switch self {
            case .login: [.badCredentials, .userNotConfirmed, .passwordResetRequired, .lockedOut, .throttled]
            case .challenge: [.codeMismatch, .codeExpired, .invalidSession, .lockedOut, .throttled]
            case .register: [.invalidPassword, .usernameExists]
            case .confirm: [.codeMismatch, .codeExpired, .usernameExists]
            case .resetPassword: [.codeMismatch, .codeExpired, .invalidPassword]
            case .changePassword: [.badCredentials, .invalidPassword]
            case .refresh: [.tokenRevoked, .tokenExpired]
            default: []
            }
        return limits.map { .limit($0) } + (kinds + [.unavailable]).map { .cognito($0) }
    }

    fileprivate var budget: AccountBudget {
        switch self {
        case .login, .challenge: .signIn
        case .confirm, .resetPassword: .codes
        case .register, .resendCode, .forgotPassword: .messages
        case .refresh: .refresh
        case .logout, .changePassword, .me, .updateMe, .deleteMe, .export, .setUpTOTP, .verifyTOTP, .removeTOTP:
            .account
        }
    }
}
