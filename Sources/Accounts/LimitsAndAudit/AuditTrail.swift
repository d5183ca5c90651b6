package import Pipeline
internal import Store
internal import Synchronization
package import Telemetry

/// The destinations of audit events: the log, the recent events, and the webhook's outbox.
package final class AuditTrail: Sendable {
    /// The webhook that receives selected events.
    package struct Webhook: Sendable {
        var destination: String
        var events: Set<AuditEventKind>
        var outbox: Outbox
        var hashes: UserHashes
        /// Creates the key by which the receiver recognizes a repeated message.
        var makeKey: @Sendable () -> String

        package init(
            destination: String, events: Set<AuditEventKind>, outbox: Outbox, hashes: UserHashes,
            makeKey: @escaping @Sendable () -> String
        ) {
            self.destination = destination
            self.events = events
            self.outbox = outbox
            self.hashes = hashes
            self.makeKey = makeKey
        }
    }

    /// nil if it is disabled.
    private let log: AuditLog?
    private let webhook: Webhook?
    private let recent: RecentEvents

    package init(log: AuditLog?, recent: RecentEvents, webhook: Webhook?) {
        self.log = log
        self.recent = recent
        self.webhook = webhook
    }

    /// Records an event. When this returns, an event for the webhook is in the outbox; the log follows.
    package func record(_ event: AuditEvent) async {
        let event = recordLocally(event)
        guard let webhook, webhook.events.contains(event.kind) else { return }
        _ = await webhook.outbox.add(webhook.message(event))
    }

    /// Records an event without waiting for the store: for event loops, and for events whose write must not affect the
    /// response time.
    package func recordWithoutWaiting(_ event: AuditEvent) {
        let event = recordLocally(event)
        guard let webhook, webhook.events.contains(event.kind) else { return }
        let message = webhook.message(event)
        Task { await webhook.outbox.add(message) }
    }

    /// Records an event in the log and among the recent events only, for calls that must cause no write.
    ///
    /// - Returns: the event with its trace.
    @discardableResult
    package func recordLocally(_ event: AuditEvent) -> AuditEvent {
        var event = event
        event.trace = event.trace ?? SpanContext.current?.ids
        log?.record(event)
        recent.add(event)
        return event
    }
}

extension AuditTrail.Webhook {
    fileprivate func message(_ event: AuditEvent) -> OutboxMessage {
        var encoder = AuditEncoder(hashes)
        var body: [UInt8] = []
        encoder.encode(event, into: &body)
        // The subject is omitted: the receiver gets the same hash as the log.
        return OutboxMessage(
            key: makeKey(), destination: destination, kind: event.kind.rawValue,
            body: String(decoding: body, as: UTF8.self), createdAt: event.time)
    }
}
