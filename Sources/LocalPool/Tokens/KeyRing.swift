internal import Encoding
internal import Locking
internal import Store

/// The pool's keys, which can be rotated while the pool serves.
final class KeyRing: Sendable {
    private let current: Locked<PoolKeys>

    init(_ keys: PoolKeys) {
        current = Locked(keys)
    }

    private var keys: PoolKeys { current.withLock { $0 } }

    var access: SigningKey { keys.access }
    var id: SigningKey { keys.id }
    var keySet: JSONObject { keys.keySet }

    /// The keys whose access tokens the pool accepts.
    var verifying: [SigningKey] {
        let keys = keys
        return [keys.access] + keys.retired
    }

    /// Replaces the signing keys.
    ///
    /// - Parameter keepingOld: whether the old keys stay in the key set and their tokens stay valid.
    func rotate(to new: PoolKeys, keepingOld: Bool, store: Store) async throws {
        let old = keys
        var next = new
        next.retired = keepingOld ? [old.access, old.id] + old.retired : []
        let stored = next
        try await store.write { try stored.save(in: $0) }
        current.withLock { $0 = stored }
    }
}
