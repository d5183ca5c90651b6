internal import Locking

/// Counters of a pool's connections and statements, readable from any thread.
package final class PostgresTally: Sendable {
    package struct Readings: Sendable {
        package var connections = PostgresPoolState()
        /// The number of statements in each bucket: at most as long as its bound in ``limits`` and longer than the
        /// previous one. The last number counts statements longer than all bounds.
        package var durations: [Int] = Array(repeating: 0, count: limits.count + 1)
        /// The total duration of all statements, including the wait for a connection.
        package var total = Duration.zero
        /// Failures by ``PostgresError/label``.
        package var errors: [String: Int] = [:]
    }

    /// The histogram bounds, in seconds.
    package static let limits = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
    private static let durations = limits.map { Duration.seconds($0) }

    private let readings = Locked(Readings())

    package var current: Readings { readings.withLock { $0 } }

    func use(_ connections: PostgresPoolState) { readings.withLock { $0.connections = connections } }

    func add(_ duration: Duration, _ error: PostgresError?) {
        let place = Self.durations.firstIndex { duration <= $0 } ?? Self.durations.count
        let label = error?.label
        readings.withLock { readings in
            readings.durations[place] += 1
            readings.total += duration
            if let label { readings.errors[label, default: 0] += 1 }
        }
    }
}

extension PostgresError {
    /// All values of ``label``.
    package static let labels = [
        "connection", "refused", "tls", "deadline", "too-many-waiting", "read-only", "unavailable", "conflict",
        "time-limit", "missing-right", "other",
    ]

    /// The error's label in metrics; nil for one that says nothing about the database.
    package var label: String? {
        switch kind {
        case .connection: return condition == .readOnly ? "read-only" : "connection"
        case .refused: return "refused"
        case .tls: return "tls"
        case .deadline: return "deadline"
        case .tooManyWaiting: return "too-many-waiting"
        case .cancelled: return nil
        case .libraryMissing, .tooLarge, .unusable, .type: return "other"
        case .statement: break
        }
        switch condition {
        case .readOnly: return "read-only"
        case .unavailable: return "unavailable"
        case .conflict: return "conflict"
        case .timeLimit: return "time-limit"
        case .missingRight: return "missing-right"
        // The result of a statement that lost a race.
        case .uniqueViolation: return nil
        case .other, nil: return "other"
        }
    }
}
