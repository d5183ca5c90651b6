internal import Cryptography
internal import Encoding
internal import Logging
package import Pipeline
internal import Store
package import Telemetry

/// Limits, audit and webhooks of one configuration snapshot. State that outlasts reloads comes from the previous
/// snapshot, and follows the new settings from ``adopt()`` on.
package struct AccountServices: Sendable {
    package let limits: AccountLimits
    package let outbox: Outbox
    package let auditLog: AuditLog
    package let steps: SignInSteps
    package let directSessions: DirectSessions
    package let names: AccountNames
    package let passwordChanges: PasswordChanges
    package let audit: AuditTrail
    package let accountFlow: AccountFlow
    private let tally: AccountTally
    private let limitSettings: AccountLimitSettings
    private let receivers: [any OutboxReceiver]
    package let hashes: UserHashes
    private let place: LogSink

    /// - Parameters:
    ///   - limits: like `outbox`, `auditLog`, `steps`, `directSessions`, `names` and `passwordChanges`, it outlasts
    ///     reloads. They follow `limitSettings`, `receivers` and `place` from ``adopt()`` on.
    ///   - sync: nil if no backend is notified.
    ///   - attributesChanged: called for a user whose attributes may have changed; nil if not needed.
    package init(
        limits: AccountLimits, outbox: Outbox, auditLog: AuditLog, steps: SignInSteps,
        directSessions: DirectSessions, names: AccountNames, passwordChanges: PasswordChanges, audit: AuditTrail,
        sync: UserSync?, tally: AccountTally, limitSettings: AccountLimitSettings, receivers: [any OutboxReceiver],
        attributesChanged: (@Sendable (_ subject: String) async -> Void)? = nil, hashes: UserHashes, place: LogSink
    ) {
        self.limits = limits
        self.outbox = outbox
        self.auditLog = auditLog
        self.steps = steps
        self.directSessions = directSessions
        self.names = names
        self.passwordChanges = passwordChanges
        self.audit = audit
        self.tally = tally
        self.limitSettings = limitSettings
        self.receivers = receivers
        self.hashes = hashes
        self.place = place
        accountFlow = AccountFlow(
            LimitsAndAudit(
                limits: limits, audit: audit, sync: sync, tally: tally, names: names,
                attributesChanged: attributesChanged))
    }

    /// Applies this snapshot's settings.
    package func adopt() {
        limits.adopt(limitSettings)
        outbox.adopt(receivers)
        auditLog.use(AuditEncoder(hashes, place.format), write: place.write)
    }

    package var readings: MetricsReadings.Accounts {
        let outbox = outbox.status
        return MetricsReadings.Accounts(
            refusals: limits.refusals, calls: tally.snapshot, signIns: tally.signIns.snapshot,
            sessionLengths: tally.sessions.snapshot, userAttributes: tally.userAttributes.snapshot,
            lockouts: tally.lockouts, outboxWaiting: outbox.waiting, outboxDelivered: outbox.delivered,
            outboxFailures: outbox.failures, outboxLost: outbox.lost)
    }
}
