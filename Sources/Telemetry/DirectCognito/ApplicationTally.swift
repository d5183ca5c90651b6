internal import Synchronization

/// Which app versions still call Cognito itself: a count for each, of a bounded number of them.
///
/// Clients choose what they call themselves. So when there is no room, the one with the fewest calls, longest not seen,
/// makes way for a new one: a flood of made-up names takes the place of made-up names, not of an app in use.
package final class ApplicationTally: Sendable {
    /// What is known of one app version.
    package struct Entry: Sendable, Equatable {
        /// Product and version, as ``DirectCognitoCall`` bounds them.
        package var application: String
        package var calls: Int64
        /// Those of them that were refused before Cognito was asked.
        package var refused: Int64
        /// Seconds since 1970.
        package var lastSeen: Int64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The calls of those that made way.
        var others: Int64 = 0

        mutating func makeRoom() {
            let rarest = entries.values.min { ($0.calls, $0.lastSeen) < ($1.calls, $1.lastSeen) }
            guard let rarest else { return }
            entries[rarest.application] = nil
            others += rarest.calls
        }
    }

    private let capacity: Int
    private let state = Mutex(State())

    package init(capacity: Int = 100) {
        self.capacity = max(1, capacity)
    }

    /// - Parameter now: seconds since 1970.
    package func count(_ application: String, refused: Bool, now: Int64) {
        state.withLock { state in
            if state.entries[application] == nil, state.entries.count >= capacity { state.makeRoom() }
            let known = state.entries[application]
            state.entries[application] = Entry(
                application: application, calls: (known?.calls ?? 0) + 1,
                refused: (known?.refused ?? 0) + (refused ? 1 : 0), lastSeen: now)
        }
    }

    /// Those with the most calls first, and the calls of all that made way.
    package var snapshot: (entries: [Entry], others: Int64) {
        let state = state.withLock { $0 }
        let sorted = state.entries.values.sorted {
            $0.calls != $1.calls ? $0.calls > $1.calls : $0.application < $1.application
        }
        return (sorted, state.others)
    }
}
