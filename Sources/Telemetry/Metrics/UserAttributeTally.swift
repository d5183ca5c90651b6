internal import Locking

/// The counts of calls that read a user's attributes for backends, by result. Cached results do not count.
package final class UserAttributeTally: Sendable {
    package enum Result: String, CaseIterable, Sendable {
        case read
        /// The provider has refused the access token.
        case refused
        /// The provider could not be reached, or too many calls were running.
        case failed
    }

    /// The count of one result.
    package struct Reading: Sendable, Equatable {
        package var result: Result
        package var count: Int64

        package init(result: Result, count: Int64) {
            self.result = result
            self.count = count
        }
    }

    private let readings = Locked(Result.allCases.map { Reading(result: $0, count: 0) })

    package init() {}

    package func count(_ result: Result) {
        readings.withLock { readings in
            guard let row = readings.firstIndex(where: { $0.result == result }) else { return }
            readings[row].count += 1
        }
    }

    package var snapshot: [Reading] { readings.withLock { $0 } }
}
