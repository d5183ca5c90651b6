package import Pipeline
internal import Store
internal import Synchronization
package import Telemetry

/// Where audit events go: the log, and the webhook's outbox.
package final class AuditTrail: Sendable {
    /// Posts events to where they are wanted.
    package struct Webhook: Sendable {
        var destination: String
        var events: Set<AuditEventKind>
        var outbox: Outbox
        var hashes: UserHashes
        /// Makes a key by which the receiver knows a message that comes again.
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

    /// Nil while it is switched off.
    private let log: AuditLog?
    private let webhook: Webhook?
    private let recent: RecentEvents

    package init(log: AuditLog?, recent: RecentEvents, webhook: Webhook?) {
        self.log = log
        self.recent = recent
        self.webhook = webhook
    }

    /// When this returns, the event is in the outbox where it is to be sent; the log follows.
    package func record(_ event: AuditEvent) async {
        let event = recordLocally(event)
        guard let webhook, webhook.events.contains(event.kind) else { return }
        _ = await webhook.outbox.add(webhook.message(event))
    }

    /// For event loops, which wait for nothing, and for what nobody may see being written.
    package func recordWithoutWaiting(_ event: AuditEvent) {
        let event = recordLocally(event)
        guard let webhook, webhook.events.contains(event.kind) else { return }
        let message = webhook.message(event)
        Task { await webhook.outbox.add(message) }
    }

    /// In the log and among the recent events, for calls that may cost no write.
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
        // The subject stays out of it: the receiver gets the hash that the log has.
        return OutboxMessage(
            key: makeKey(), destination: destination, kind: event.kind.rawValue,
            body: String(decoding: body, as: UTF8.self), createdAt: event.time)
    }
}
