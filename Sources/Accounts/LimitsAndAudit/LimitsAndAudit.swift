internal import Clocks
internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Locking
internal import Pipeline
package import Telemetry

/// Applies the limits before each account call. After the call it reports to the backend, the limits and the audit log,
/// in this order: a call that the backend must know of and does not is not reported as a success to the others.
struct LimitsAndAudit: AccountGuard {
    private let limits: AccountLimits
    private let audit: AuditTrail
    /// nil if no backend is notified.
    private let sync: UserSync?
    private let tally: AccountTally
    /// Called for a user whose attributes may have changed; nil if not needed.
    private let attributesChanged: AttributesChanged?
    private let names: AccountNames

    /// Returns once this gateway no longer uses the former attributes.
    typealias AttributesChanged = @Sendable (_ subject: String) async -> Void

    init(
        limits: AccountLimits, audit: AuditTrail, sync: UserSync?, tally: AccountTally, names: AccountNames,
        attributesChanged: AttributesChanged? = nil
    ) {
        self.names = names
        self.tally = tally
        self.attributesChanged = attributesChanged
        self.limits = limits
        self.audit = audit
        self.sync = sync
    }

    func admit(_ call: AccountCall) async throws(Refusal) -> Admission {
        try await limits.admission(of: call)
    }

    func identify(_ admission: inout Admission, as username: String?) async -> Int? {
        let call = admission.call
        let account = username.map { LimitedCall.user($0, in: call.poolID) }
        return await limits.identify(&admission.limited, LimitedCall(call), as: account)?.retryAfter
    }

    func subjects(named name: String, poolID: String) async throws -> [String] {
        try await names.subjects(named: name, poolID: poolID)
    }

    func noteNames(of user: AccountUser, poolID: String) async {
        await names.note(user, typed: nil, poolID: poolID)
    }

    func refused(_ call: AccountCall, _ outcome: AccountOutcome) async {
        report(of: call, outcome)
        // Nothing limits the number of calls that are not admitted: they must not fill the webhook's queue.
        for event in AuditEvent.events(of: call, outcome, locks: false) { audit.recordLocally(event) }
    }

    func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {
        _ = try await endShowingUser(admission, outcome)
    }

    func endShowingUser(
        _ admission: consuming Admission, _ outcome: AccountOutcome
    ) async throws(Refusal) -> JSONObject? {
        let call = admission.call
        var reported = outcome
        var refusal: Refusal?
        var user: JSONObject?
        do {
            user = try await sync?.report(call, outcome)
        } catch {
            refusal = error
            reported = error.outcome
        }
        report(of: call, reported)
        let locks = await settle(admission, outcome)
        if locks { tally.countLockout() }
        // A sign-in that is refused here is taken back, and a deletion is repeated. Any other change is made.
        let recorded = if case .shown = outcome { outcome } else { reported }
        await record(call, recorded, locks: locks)
        await noteChange(by: call, outcome)
        if let refusal { throw refusal }
        return user
    }

    private func noteChange(by call: AccountCall, _ outcome: AccountOutcome) async {
        guard let attributesChanged, let subject = call.changedSubject(outcome) else { return }
        await attributesChanged(subject)
    }

    /// Counts a call in the metrics.
    private func report(of call: AccountCall, _ outcome: AccountOutcome) {
        tally.count(AccountTally.Key(call.operation, outcome))
        if let method = call.method, let result = SignInTally.Result(outcome) { tally.signIns.count(method, result) }
        if let session = call.session, let end = SessionLengths.End(call.operation, outcome) {
            tally.sessions.ended(session.id, by: end, after: WallClock.seconds() - session.beganAt)
        }
    }

    /// Records a call in the audit log.
    private func record(_ call: AccountCall, _ outcome: AccountOutcome, locks: Bool) async {
        for event in AuditEvent.events(of: call, outcome, locks: locks) {
            // The account may be locked although the typed name is not: waiting for another write would reveal that.
            if locks, event.kind == .lockedOut { audit.recordWithoutWaiting(event) } else { await audit.record(event) }
        }
    }

    /// Reports the outcome to the limits.
    ///
    /// - Returns: whether the call locks the account.
    private func settle(_ admission: consuming Admission, _ outcome: AccountOutcome) async -> Bool {
        let call = admission.call
        switch outcome {
        case .signedIn(let user):
            await names.note(user, typed: call.account, poolID: call.poolID)
            await admission.signedIn(as: LimitedCall.user(user.username, in: call.poolID)) { [names] in
                await names.areOnly(user.names(typed: call.account), of: user.id, poolID: call.poolID)
            }
        case .refused(let error, let reason) where reason.isGuess(refusedWith: error):
            return await admission.failed()
        // Reset when the user signs in. A challenge of several questions looks the same.
        case .challenged where call.wasAnsweredWrong, .refused where call.wasAnsweredWrong:
            return await admission.failed()
        case .succeeded where call.operation.effect == .passwordChanged:
            await admission.proven { [names] in
                guard let guess = call.guess else { return true }
                return await names.areOnly([guess.username], of: guess.subject, poolID: call.poolID)
            }
        case .succeeded where call.operation.effect == .passwordReset:
            _ = consume admission
            await unlock(call)
        case .succeeded, .givenAgain, .shown, .changed, .forwarded, .challenged, .refused: break
        }
        return false
    }

    /// Unlocks the account after a reset. The code was sent to the user, so its holder is the user. If several users
    /// have had the name, it is unknown which of them.
    private func unlock(_ call: AccountCall) async {
        guard let name = call.account, let account = LimitedCall.account(of: call) else { return }
        let subjects: [String]
        do {
            subjects = try await names.subjects(named: name, poolID: call.poolID)
        } catch {
            return names.report(error)
        }
        guard subjects.count <= 1 else { return }
        await limits.unlock(account: account, subjects: subjects.map { LimitedCall.subject($0, in: call.poolID) })
    }
}

extension AccountLimits {
    /// Admits a call.
    ///
    /// - Throws: 429 for a call that has reached a limit; 503 if the counts of other gateways are unknown.
    func admission(of call: AccountCall) async throws(Refusal) -> Admission {
        let admitted: AdmittedCall
        do {
            admitted = try await admit(LimitedCall(call))
        } catch {
            throw .retryLater(.tooManyRequests, after: error.retryAfter, reason: .limit(error.cause))
        }
        // If it is dropped, it counts nothing.
        let admission = Admission(call, admitted, self)
        guard !admitted.isUncertain else {
            throw .retryLater(.serviceUnavailable, after: 5, reason: .account(.sessionRecordsUnavailable))
        }
        return admission
    }
}

extension AccountTally.Key {
    /// The outcomes of account calls in ordinary operation.
    package static let expected: [Self] = CognitoAccounts.operations.flatMap { operation in
        let name = operation.metricsName
        return [Self(operation: name, result: "success")]
            + (operation.budget == .signIn ? [Self(operation: name, result: "challenge")] : [])
            + (operation.effect == .refreshed ? [Self(operation: name, result: "given_again")] : [])
            + operation.usualRefusals.map { Self(operation: name, result: "refused", reason: $0) }
    }

    init(_ operation: AccountOperation, _ outcome: AccountOutcome) {
        let name = operation.metricsName
        switch outcome {
        case .succeeded, .shown, .changed, .signedIn, .forwarded: self.init(operation: name, result: "success")
        case .givenAgain: self.init(operation: name, result: "given_again")
        case .challenged: self.init(operation: name, result: "challenge")
        case .refused(_, let reason): self.init(operation: name, result: "refused", reason: reason)
        }
    }
}

extension SignInTally.Result {
    /// nil for a success that is not a sign-in.
    init?(_ outcome: AccountOutcome) {
        switch outcome {
        case .signedIn, .forwarded: self = .success
        case .challenged: self = .challenge
        case .refused: self = .refused
        case .succeeded, .givenAgain, .shown, .changed: return nil
        }
    }
}

extension SessionLengths.End {
    /// nil if the call neither ends a session nor finds one ended.
    init?(_ operation: AccountOperation, _ outcome: AccountOutcome) {
        switch outcome {
        case .succeeded: self.init(effect: operation.effect)
        case .refused(_, let reason):
            guard operation.effect == .refreshed else { return nil }
            self.init(reason: reason)
        case .givenAgain, .shown, .changed, .signedIn, .forwarded, .challenged: return nil
        }
    }

    private init?(effect: AccountOperation.Effect) {
        switch effect {
        case .signedOut: self = .signOut
        case .userDeleted: self = .deletion
        case .none, .registered, .confirmed, .passwordReset, .passwordChanged, .refreshed, .userExported,
            .sessionsEnded, .userChanged, .emailChanged, .phoneNumberChanged, .secondFactorsChanged,
            .passkeyRegistered, .passkeyDeleted:
            return nil
        }
    }

    private init?(reason: Reason) {
        switch reason.ofSession {
        case .expired: self = .expiry
        case .idle: self = .idle
        case .reused: self = .reuse
        case .ended: self = .revocation
        case .usedByOtherDevice, nil: return nil
        }
    }
}

extension LimitedCall {
    init(_ call: AccountCall) {
        self.init(
            budget: call.operation.budget, account: Self.account(of: call),
            // A sign-in proves its device, so the device counts at a sign-in and for its code. Other calls could name
            // any.
            device: call.operation.isOfSignIn ? call.device?.deviceID : nil,
            provenDevice: call.provenDevice, unknownStep: call.unknownStep, clientAddress: call.clientAddress)
        isOfAccountOnly = call.isFurtherMessage
        guess = call.guess.map { guess in
            Guess(
                account: Self.user(guess.username, in: call.poolID),
                subject: Self.subject(guess.subject, in: call.poolID), session: guess.session)
        }
    }

    /// Returns the text that identifies the account itself. No typed name has this form: otherwise typing a `sub` would
    /// reveal that user's lock.
    ///
    /// - Parameter username: Cognito's internal name of the user.
    static func user(_ username: String, in poolID: String) -> String { "\(poolID)/user/\(username)" }

    static func subject(_ subject: String, in poolID: String) -> String { "\(poolID)/subject/\(subject)" }

    /// Returns the text that identifies the account that a call is counted for; nil if the call names none. Two pools
    /// may have users of the same name. The pool's ID is folded, so that a name in lower case is its own folded form:
    /// its devices keep the keys from before names counted exactly.
    static func account(of call: AccountCall) -> String? {
        if let account = call.account { return "\(LimitKeys.folded(call.poolID))/account/\(account)" }
        if let token = call.tokenDigest { return "\(call.poolID)/token/\(token)" }
        return call.subject.map { Self.subject($0, in: call.poolID) }
    }
}

extension AccountCall {
    /// Returns the `sub` of the user whose attributes the call may have changed; nil if it cannot have changed any.
    fileprivate func changedSubject(_ outcome: AccountOutcome) -> String? {
        guard operation.mayChangeUser else { return nil }
        switch outcome {
        // Cognito may have made a part of the change before the refusal, or all of it if its response was lost.
        case .succeeded, .shown, .changed, .refused(_, reason: .cognito(_)): return subject
        case .givenAgain, .signedIn, .forwarded, .challenged, .refused: return nil
        }
    }
}

extension AccountOperation {
    fileprivate var isOfSignIn: Bool { budget == .signIn || self == .signInCode }

    /// Whether it may change a user's attributes.
    fileprivate var mayChangeUser: Bool { method != .get && effect != .refreshed }

    /// The reasons for refusals in normal operation: the user's actions, their frequency, or an unavailable Cognito.
    fileprivate var usualRefusals: [Reason] {
        let locks = budget == .signIn || effect == .passwordChanged
        let limits: [LimitCause] = [.address, .account, .global] + (locks ? [.lockout] : [])
        return limits.map { .limit($0) } + (usualErrors + [.unavailable]).map { .cognito($0) }
    }
}
