internal import Locking
package import Pipeline
internal import Synchronization

/// The counts of account calls by operation and result. The labels come from closed lists, so their number is bounded.
package final class AccountTally: Sendable {
    package struct Key: Hashable, Sendable {
        package var operation: String
        /// `success`, `challenge` or `refused`.
        package var result: String
        /// The code of a ``Reason``; empty unless refused.
        package let reason: String

        package init(operation: String, result: String, reason: Reason? = nil) {
            self.operation = operation
            self.result = result
            self.reason = reason?.code ?? ""
        }
    }

    /// The lengths of the sessions that these calls have ended.
    package let sessions = SessionLengths()
    /// The counts of sign-ins by method.
    package let signIns = SignInTally()
    /// The counts of reads of user attributes for backends.
    package let userAttributes = UserAttributeTally()
    private let counts: Locked<[Key: Int]>
    private let lockoutCount = Atomic(0)

    /// - Parameter expected: the keys that are 0 from the start, so that monitoring sees the first increase.
    package init(expected: some Sequence<Key> = []) {
        counts = Locked(Dictionary(expected.map { ($0, 0) }) { first, _ in first })
    }

    /// Counts an account that was locked by a call.
    package func countLockout() { lockoutCount.add(1, ordering: .relaxed) }

    package var lockouts: Int { lockoutCount.load(ordering: .relaxed) }

    package func count(_ key: Key) {
        counts.withLock { $0[key, default: 0] += 1 }
    }

    package var snapshot: [(key: Key, count: Int)] {
        counts.withLock { $0 }.map { ($0.key, $0.value) }.sorted {
            ($0.key.operation, $0.key.result, $0.key.reason) < ($1.key.operation, $1.key.result, $1.key.reason)
        }
    }
}
