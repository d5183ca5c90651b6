internal import Encoding
internal import Locking
internal import Pipeline

/// The last requests that were refused, the last audit events and the last errors, for whoever asks what is going on.
package final class RecentEvents: Sendable {
    private let denials = Locked(Ring<AccessRecord>())
    private let audit = Locked(Ring<AuditEvent>())
    private let errors = Locked(ErrorStreaks())

    package init() {}

    /// Adds a request that was refused or got a 5xx response. An event loop never waits here: while another one adds,
    /// or someone reads, a request is left out.
    ///
    /// - Parameters:
    ///   - error: what went wrong, where more is known of it than the reason.
    ///   - now: seconds since 1970.
    package func add(_ record: AccessRecord, error: String? = nil, at now: Int64) {
        // That a client has gone is no refusal.
        guard record.denialReason != Reason.request(.clientDisconnected).code else { return }
        if record.denialReason != nil { _ = denials.withLockIfAvailable { $0.add(record) } }
        func recorded() -> RecordedError {
            RecordedError(
                text: error ?? record.denialReason ?? "status \(record.status)", requestID: record.requestID,
                request: "\(record.method) \(record.loggedTarget)")
        }
        _ = errors.withLockIfAvailable { errors in
            if let reason = record.denialReason { errors.add(.reason(ExactText(reason)), at: now, recorded) }
            if record.status >= 500 { errors.add(.route(record.route.map { ExactText($0) }), at: now, recorded) }
        }
    }

    /// Adds an error of a server, also where another one then responded. As for ``add(_:error:at:)``, nobody waits.
    ///
    /// - Parameter now: seconds since 1970.
    package func serverErred(
        _ server: String, of upstream: String, _ text: @autoclosure () -> String, requestID: String, at now: Int64
    ) {
        let source = ErrorSource.server(upstream: ExactText(upstream), server: ExactText(server))
        _ = errors.withLockIfAvailable { errors in
            errors.add(source, at: now) { RecordedError(text: text(), requestID: requestID) }
        }
    }

    /// By what had them.
    package var errorStreaks: [ErrorSource: ErrorStreak] { errors.withLock { $0.streaks } }

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
