internal import Locking

/// Counts of a pool's connections and statements, readable from anywhere.
package final class PostgresTally: Sendable {
    package struct Readings: Sendable {
        package var connections = PostgresPoolState()
        /// How many statements took at most as long as each of ``limits``, and longer than the one before; the last
        /// number is of those that took longer than all.
        package var durations: [Int] = Array(repeating: 0, count: limits.count + 1)
        /// How long all statements took together, the wait for a connection included.
        package var total = Duration.zero
        /// Failures by ``PostgresError/label``.
        package var errors: [String: Int] = [:]
    }

    /// In seconds.
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
    /// Every ``label``.
    package static let labels = [
        "connection", "refused", "tls", "deadline", "too-many-waiting", "read-only", "unavailable", "conflict",
        "time-limit", "missing-right", "other",
    ]

    /// The error in metrics; nil for one that tells nothing of the database.
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
        // The answer of a statement that lost a race.
        case .uniqueViolation: return nil
        case .other, nil: return "other"
        }
    }
}
