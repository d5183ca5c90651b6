/// A follower's position in the changes written by several processes. Only the store that created a position can read
/// it.
package struct ChangePosition: Sendable, Hashable {
    /// Changes with a restart of the database and with a fail-over to another server: positions of different origins
    /// cannot be compared.
    package var origin: String
    package var mark: String

    package init(origin: String = "", mark: String) {
        self.origin = origin
        self.mark = mark
    }
}

/// Revocations new to a follower.
package struct RevocationReading: Sendable {
    package var records: [RevocationRecord]
    /// The position of the next reading.
    package var position: ChangePosition
    /// Whether these are all stored revocations rather than only the new ones.
    package var isWhole: Bool

    package init(records: [RevocationRecord], position: ChangePosition, isWhole: Bool) {
        self.records = records
        self.position = position
        self.isWhole = isWhole
    }
}

/// How a follower learns of changes.
package enum ChangeNotice: String, Sendable {
    /// The database sends a notification.
    case notify
    /// The follower polls.
    case poll
}

/// The list of revocations and its changes by any process. One service of a process follows it.
package protocol RevocationChanges: Sendable {
    /// How changes are currently detected.
    var notice: ChangeNotice { get }
    /// Whether other processes may have revocations that the database has lost, as after a fail-over. If so, a follower
    /// that has read the whole list stores the ones missing from it.
    var isShared: Bool { get }
    /// Reads the revocations stored since a position. Late commits are not missed; a revocation may be returned twice.
    ///
    /// - Parameters:
    ///   - position: the position of the last reading; nil: all are read.
    ///   - now: seconds since 1970.
    func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading
    /// Emits an element when there may be changes, and at an interval at which the list must be read in any case. The
    /// stream ends with the task that reads it.
    func signals() -> AsyncStream<Void>
}

/// The list in SQLite: after a write of another process the whole list is read.
struct StoredRevocationChanges: RevocationChanges {
    private static let interval = Duration.seconds(2)

    let records: StoredRevocations
    let store: Store

    var notice: ChangeNotice { .poll }
    var isShared: Bool { false }

    func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading {
        // The number is read first: revocations written in between are returned now and again by the next call.
        let current = ChangePosition(mark: String(try await store.foreignChanges()))
        guard current != position else { return RevocationReading(records: [], position: current, isWhole: false) }
        return RevocationReading(records: try await records.all(now: now), position: current, isWhole: true)
    }

    func signals() -> AsyncStream<Void> { ChangeSignals.every { Self.interval } }
}

/// Streams that wake a follower. Elements not yet consumed are coalesced.
package enum ChangeSignals {
    /// Emits an element at each interval, and whenever `listen` calls its argument.
    ///
    /// - Parameter listen: runs until its task is cancelled.
    package static func every(
        _ interval: @escaping @Sendable () -> Duration,
        listen: @escaping @Sendable (_ ring: @escaping @Sendable () -> Void) async -> Void = { _ in }
    ) -> AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let listening = Task { await listen { continuation.yield() } }
            let ticking = Task {
                while !Task.isCancelled {
                    do {
                        try await Task.sleep(for: interval())
                    } catch {
                        return
                    }
                    continuation.yield()
                }
            }
            continuation.onTermination = { _ in
                listening.cancel()
                ticking.cancel()
            }
        }
    }
}
