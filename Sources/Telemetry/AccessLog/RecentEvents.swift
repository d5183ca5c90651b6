internal import Locking
internal import Pipeline

/// The last requests that were refused and the last audit events, for whoever asks what is going on.
package final class RecentEvents: Sendable {
    private let denials = Locked(Ring<AccessRecord>())
    private let audit = Locked(Ring<AuditEvent>())

    package init() {}

    /// An event loop never waits here: while another one adds, or someone reads, a refusal is left out.
    package func add(_ record: AccessRecord) {
        // That a client has gone is no refusal.
        guard record.denialReason != Reason.request(.clientDisconnected).code else { return }
        _ = denials.withLockIfAvailable { $0.add(record) }
    }

    package func add(_ event: AuditEvent) { audit.withLock { $0.add(event) } }

    /// The newest first.
    package var lastDenials: [AccessRecord] { denials.withLock { $0.newestFirst } }
    package var lastAuditEvents: [AuditEvent] { audit.withLock { $0.newestFirst } }
}

/// The last so many of what is added.
struct Ring<Element> {
    private let capacity: Int
    private var elements: [Element] = []
    private var next = 0

    init(capacity: Int = 50) {
        self.capacity = capacity
    }

    mutating func add(_ element: Element) {
        if elements.count < capacity { elements.append(element) } else { elements[next] = element }
        next = (next + 1) % capacity
    }

    var newestFirst: [Element] {
        let split = elements.count < capacity ? 0 : next
        return (elements[split...] + elements[..<split]).reversed()
    }
}
