/// How far a follower has read what several processes write. Only the store that made a position can read it.
package struct ChangePosition: Sendable, Hashable {
    /// Another one after a restart of the database, and on another server after a fail-over: positions of two origins
    /// cannot be compared.
    package var origin: String
    package var mark: String

    package init(origin: String = "", mark: String) {
        self.origin = origin
        self.mark = mark
    }
}

/// Revocations that a follower has not read yet.
package struct RevocationReading: Sendable {
    package var records: [RevocationRecord]
    /// From where to read on.
    package var position: ChangePosition
    /// Whether these are all that are kept, and not the new ones alone.
    package var isWhole: Bool

    package init(records: [RevocationRecord], position: ChangePosition, isWhole: Bool) {
        self.records = records
        self.position = position
        self.isWhole = isWhole
    }
}

/// The ways by which a follower learns that there are changes.
package enum ChangeNotice: String, Sendable {
    /// The database sends a message.
    case notify
    /// The follower asks in an interval.
    case poll
}

/// The list of revocations as it changes, whoever changes it. One service of a process follows it.
package protocol RevocationChanges: Sendable {
    /// How changes are learned of now.
    var notice: ChangeNotice { get }
    /// Whether other processes may hold revocations that the database has lost, as after a fail-over. Then a follower
    /// that has read the whole list stores those that it lacks.
    var isShared: Bool { get }
    /// Reads what was kept since a position. None that is committed late is left out; one may be read twice.
    ///
    /// - Parameters:
    ///   - position: of the last reading; nil: all are read.
    ///   - now: seconds since 1970.
    func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading
    /// An element when there may be changes, and in an interval in which the list is to be read in any case. It ends
    /// with the task that reads it.
    func signals() -> AsyncStream<Void>
}

/// The list in SQLite: any write of another process means that the whole list is read.
struct StoredRevocationChanges: RevocationChanges {
    private static let interval = Duration.seconds(2)

    let records: StoredRevocations
    let store: Store

    var notice: ChangeNotice { .poll }
    var isShared: Bool { false }

    func read(since position: ChangePosition?, now: Int64) async throws -> RevocationReading {
        // First the number: what is written in between is read now and once more.
        let current = ChangePosition(mark: String(try await store.foreignChanges()))
        guard current != position else { return RevocationReading(records: [], position: current, isWhole: false) }
        return RevocationReading(records: try await records.all(now: now), position: current, isWhole: true)
    }

    func signals() -> AsyncStream<Void> { ChangeSignals.every { Self.interval } }
}

/// Streams that wake a follower. Elements that nobody has taken yet are one.
package enum ChangeSignals {
    /// An element in each interval, and whenever `listen` calls what it is given.
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
