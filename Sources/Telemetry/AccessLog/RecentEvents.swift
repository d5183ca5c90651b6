internal import Encoding
internal import Locking
internal import Pipeline

/// The last refused requests, audit events and errors, for the status page.
package final class RecentEvents: Sendable {
    private let denials = Locked(Ring<AccessRecord>())
    private let audit = Locked(Ring<AuditEvent>())
    private let errors = Locked(ErrorStreaks())

    package init() {}

    /// Adds a request that was refused or got a 5xx response. An event loop never waits here: while another thread adds
    /// or reads, the request is omitted.
    ///
    /// - Parameters:
    ///   - error: a description of the error; nil if only the reason is known.
    ///   - now: seconds since 1970.
    package func add(_ record: AccessRecord, error: String? = nil, at now: Int64) {
        // A client's disconnection is not a refusal.
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

    /// Adds an error of a server, even if another server then responded. Like ``add(_:error:at:)``, it never waits.
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

    /// The error streaks by their source.
    package var errorStreaks: [ErrorSource: ErrorStreak] { errors.withLock { $0.streaks } }

    package func add(_ event: AuditEvent) { audit.withLock { $0.add(event) } }

    /// The last refused requests, the newest first.
    package var lastDenials: [AccessRecord] { denials.withLock { $0.newestFirst } }
    package var lastAuditEvents: [AuditEvent] { audit.withLock { $0.newestFirst } }
}

/// A ring buffer of the last elements.
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
