package import Accounts
package import Pipeline
package import Synchronization

/// The entries of the revocation list.
package final class RecordedRevocations: Sendable {
    private let recorded = Mutex<[Revocation]>([])

    package init() {}

    package var targets: [Revocation.Target] { recorded.withLock { $0.map(\.target) } }
    package var all: [Revocation] { recorded.withLock { $0 } }

    package struct Full: Error {}
    package let isFull = Mutex(false)

    package func add(_ revocations: [Revocation]) throws {
        guard !isFull.withLock({ $0 }) else { throw Full() }
        recorded.withLock { $0 += revocations }
    }
}

/// A guard that keeps what it was told, and refuses what it is told to.
package final class RecordedCalls: AccountGuard {
    package struct Entry: Sendable {
        package var call: AccountCall
        /// Nil before the call.
        package var outcome: AccountOutcome?
    }

    private let recorded = Mutex<[Entry]>([])
    package let admission: Refusal?
    package let end: Refusal?

    package init(admission: Refusal? = nil, end: Refusal? = nil) {
        self.admission = admission
        self.end = end
    }

    package var entries: [Entry] { recorded.withLock { $0 } }

    private func record(_ call: AccountCall, _ outcome: AccountOutcome?) {
        recorded.withLock { $0.append(Entry(call: call, outcome: outcome)) }
    }

    package func admit(_ call: AccountCall) async throws(Refusal) -> Admission {
        record(call, nil)
        if let admission { throw admission }
        return Admission(call)
    }

    package func identify(_ admission: inout Admission, as username: String?) async -> Int? { nil }

    package func end(_ admission: consuming Admission, _ outcome: AccountOutcome) async throws(Refusal) {
        record(admission.call, outcome)
        if let end { throw end }
    }

    package func refused(_ call: AccountCall, _ outcome: AccountOutcome) async { record(call, outcome) }
}
