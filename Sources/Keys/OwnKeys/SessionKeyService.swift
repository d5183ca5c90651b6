internal import Cryptography
internal import Locking
package import Pipeline

/// The keys of the gateway's own sessions: a key ring, and the key set that verifies with it.
package final class SessionKeyService: SessionKeys {
    /// The service that reads and rotates the ring.
    package let keys: AssertionKeyService
    private let verifying = Locked<(keys: AssertionKeys, set: KeySet)?>(nil)

    package init(_ keys: AssertionKeyService) {
        self.keys = keys
    }

    package var signing: AssertionKey? { keys.current?.signing }

    /// Created again when the ring changes.
    package var keySet: KeySet? {
        guard let current = keys.current else { return nil }
        return verifying.withLock { known in
            if let known, known.keys === current { return known.set }
            guard let set = Self.set(current) else { return nil }
            known = (current, set)
            return set
        }
    }

    /// Nil is not expected for a document of the gateway's own.
    private static func set(_ keys: AssertionKeys) -> KeySet? {
        try? KeySet(jwks: keys.document, algorithms: [.es256], origin: .own, generation: KeySetGeneration.next())
    }
}

/// The keys that sign and verify sessions.
package protocol SessionKeys: Sendable {
    /// The current signing key; nil if there is none.
    var signing: AssertionKey? { get }
    /// The keys that verify, including those that no longer sign.
    var keySet: KeySet? { get }
}
