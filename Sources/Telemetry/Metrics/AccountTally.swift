internal import Locking
package import Pipeline
internal import Synchronization

/// Counts of account calls by operation and result. The labels are from closed lists, so that their number is bounded.
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

    /// How long the sessions lasted that such calls have ended.
    package let sessions = SessionLengths()
    /// Those of them that are sign-ins, by method.
    package let signIns = SignInTally()
    /// Reads of users' attributes for backends.
    package let userAttributes = UserAttributeTally()
    private let counts: Locked<[Key: Int]>
    private let lockoutCount = Atomic(0)

    /// - Parameter expected: counts that are 0 from the start, so that a watcher sees the first one come.
    package init(expected: some Sequence<Key> = []) {
        counts = Locked(Dictionary(expected.map { ($0, 0) }) { first, _ in first })
    }

    /// An account was locked by a call.
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
