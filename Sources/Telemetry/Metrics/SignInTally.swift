internal import Locking
package import Pipeline

/// The counts of sign-in steps by method and result. A sign-in with several steps counts once for each step.
package final class SignInTally: Sendable {
    /// The result of a step.
    package enum Result: String, CaseIterable, Sendable {
        /// The user is signed in.
        case success
        /// Another step is required.
        case challenge
        case refused
    }

    /// The count of one method and result.
    package struct Reading: Sendable, Equatable {
        package var method: SignInMethod
        package var result: Result
        package var count: Int64
    }

    private let readings: Locked<[Reading]>

    package init() {
        readings = Locked(
            SignInMethod.allCases.flatMap { method in
                Result.allCases.map { Reading(method: method, result: $0, count: 0) }
            })
    }

    package func count(_ method: SignInMethod, _ result: Result) {
        readings.withLock { readings in
            guard let row = readings.firstIndex(where: { $0.method == method && $0.result == result }) else { return }
            readings[row].count += 1
        }
    }

    package var snapshot: [Reading] { readings.withLock { $0 } }
}
