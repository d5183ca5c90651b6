internal import Encoding
internal import Locking

/// Changes of addresses that have begun, so that another request for a code gets the same response whether the address
/// was free or somebody else's: a pool that has refused the change would send the code to the old address.
///
/// Held in memory for as long as Cognito's codes live.
final class BegunContactChanges: Sendable {
    struct Change: Sendable {
        /// The destination of the code as the client was shown it.
        var delivery: CodeDelivery
        /// Whether the pool has refused it, so that there is no code.
        var isRefused: Bool
    }

    private static let capacity = 10_000
    private static let lifetime: Int64 = 86_400

    private let table = Locked(ExpiringTable<Change>(capacity: capacity))
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// - Parameter attribute: Cognito's name for what is changed.
    func note(_ change: Change, of attribute: String, _ subject: String) {
        let now = now()
        table.withLock { $0.set(change, of: "\(attribute)/\(subject)", endsAt: now + Self.lifetime, at: now) }
    }

    /// The newest one; nil where none has begun.
    func change(of attribute: String, _ subject: String) -> Change? {
        let now = now()
        return table.withLock { $0.value(of: "\(attribute)/\(subject)", at: now) }
    }

    /// The change is made.
    func remove(_ attribute: String, _ subject: String) {
        table.withLock { $0.remove("\(attribute)/\(subject)") }
    }
}
