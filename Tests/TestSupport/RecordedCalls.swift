package import Accounts
package import Encoding
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

/// An observer that keeps what it was told, and refuses what it is told to.
package final class RecordedCalls: AccountObserver {
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

    package func admit(_ call: AccountCall) async throws(Refusal) {
        recorded.withLock { $0.append(Entry(call: call, outcome: nil)) }
        if let admission { throw admission }
    }

    package func ended(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal) {
        recorded.withLock { $0.append(Entry(call: call, outcome: outcome)) }
        if let end { throw end }
    }

    package func held(about subject: String, poolID: String) async throws(Refusal) -> JSONObject {
        ["observed": .string("\(poolID) \(subject)")]
    }
}

extension Reason {
    /// The first reason with this code.
    package static func with(_ code: String) -> Reason {
        guard let reason = allCases.first(where: { $0.code == code }) else { preconditionFailure("no reason \(code)") }
        return reason
    }
}
