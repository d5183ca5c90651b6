internal import Encoding
internal import Locking

/// Address changes in progress. A request for another code must get the same response whether the address was free or
/// another user's: if the pool has refused the change, it would send the code to the old address.
///
/// Kept in memory for the lifetime of Cognito's codes.
final class BegunContactChanges: Sendable {
    struct Change: Sendable {
        /// The code's destination as shown to the client.
        var delivery: CodeDelivery
        /// Whether the pool has refused the change, so that there is no code.
        var isRefused: Bool
    }

    private static let capacity = 10_000
    private static let lifetime: Int64 = 86_400

    private let table = Locked(ExpiringTable<Change>(capacity: capacity))
    private let now: @Sendable () -> Int64

    /// - Parameter now: seconds since 1970.
    init(now: @escaping @Sendable () -> Int64) { self.now = now }

    /// Stores a change.
    ///
    /// - Parameter attribute: Cognito's name of the changed attribute.
    func note(_ change: Change, of attribute: String, _ subject: String) {
        let now = now()
        table.withLock { $0.set(change, of: "\(attribute)/\(subject)", endsAt: now + Self.lifetime, at: now) }
    }

    /// Returns the latest change of the attribute; nil if there is none.
    func change(of attribute: String, _ subject: String) -> Change? {
        let now = now()
        return table.withLock { $0.value(of: "\(attribute)/\(subject)", at: now) }
    }

    /// Removes a change that is complete.
    func remove(_ attribute: String, _ subject: String) {
        table.withLock { $0.remove("\(attribute)/\(subject)") }
    }
}
