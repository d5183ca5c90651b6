internal import Locking

/// Counts the direct Cognito calls of each app version, for a bounded number of versions.
///
/// Clients choose their names. When the table is full, the entry with the fewest calls, and among these the one unseen
/// for longest, is replaced. A flood of made-up names therefore replaces made-up names, not an app in use.
package final class ApplicationTally: Sendable {
    /// The counts of one app version.
    package struct Entry: Sendable, Equatable {
        /// The product and version, in the bounded form of ``DirectCognitoCall/application``.
        package var application: String
        package var calls: Int64
        /// The calls that were refused before they reached Cognito.
        package var refused: Int64
        /// Seconds since 1970.
        package var lastSeen: Int64
    }

    /// The calls of one operation by one app version.
    package struct Calls: Sendable, Equatable {
        package var application: String
        package var operation: String
        package var count: Int64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The calls of replaced entries.
        var others: Int64 = 0
        /// The calls by operation: of each entry, and of replaced entries.
        var operations: [String: [String: Int64]] = [:]
        var otherOperations: [String: Int64] = [:]
        /// The names that have been used as labels.
        var labels: Set<String> = []

        mutating func makeRoom() {
            let rarest = entries.values.min { ($0.calls, $0.lastSeen) < ($1.calls, $1.lastSeen) }
            guard let rarest else { return }
            entries[rarest.application] = nil
            others += rarest.calls
            otherOperations.merge(operations.removeValue(forKey: rarest.application) ?? [:], uniquingKeysWith: +)
        }
    }

    private let capacity: Int
    private let labelCapacity: Int
    private let operations: Set<String>
    private let state = Locked(State())

    /// - Parameters:
    ///   - labelCapacity: the maximum number of names used as labels during the process's lifetime.
    ///   - operations: the known operations; others count as `other`.
    package init(
        capacity: Int = 100, labelCapacity: Int = 200,
        operations: some Sequence<String> = MetricsLabels.cognitoClientOperations
    ) {
        self.capacity = max(1, capacity)
        self.labelCapacity = labelCapacity
        self.operations = Set(operations)
    }

    /// - Parameter now: seconds since 1970.
    package func count(_ application: String, operation: String? = nil, refused: Bool, now: Int64) {
        let operation = operation.flatMap { operations.contains($0) ? $0 : nil } ?? "other"
        state.withLock { state in
            if state.entries[application] == nil, state.entries.count >= capacity { state.makeRoom() }
            let known = state.entries[application]
            state.entries[application] = Entry(
                application: application, calls: (known?.calls ?? 0) + 1,
                refused: (known?.refused ?? 0) + (refused ? 1 : 0), lastSeen: now)
            state.operations[application, default: [:]][operation, default: 0] += 1
        }
    }

    /// The counts for metrics. A label that was once used stays in use. Names beyond `labelCapacity` are part of
    /// `(others)` from the beginning, so that its counts never decrease. An app that was replaced and calls again
    /// starts from zero.
    package var calls: [Calls] {
        state.withLock { state in
            var others = state.otherOperations
            var calls: [Calls] = []
            for (application, operations) in state.operations {
                if state.labels.count < labelCapacity { state.labels.insert(application) }
                guard state.labels.contains(application) else {
                    others.merge(operations, uniquingKeysWith: +)
                    continue
                }
                calls += operations.map { Calls(application: application, operation: $0.key, count: $0.value) }
            }
            if others.isEmpty { others = ["other": 0] }
            return calls.sorted { ($0.application, $0.operation) < ($1.application, $1.operation) }
                + others.sorted { $0.key < $1.key }.map {
                    Calls(application: "(others)", operation: $0.key, count: $0.value)
                }
        }
    }

    /// The entries with the most calls first, and the calls of all replaced entries.
    package var snapshot: (entries: [Entry], others: Int64) {
        let state = state.withLock { $0 }
        let sorted = state.entries.values.sorted {
            $0.calls != $1.calls ? $0.calls > $1.calls : $0.application < $1.application
        }
        return (sorted, state.others)
    }
}
