internal import Cryptography
internal import Locking
internal import Pipeline
internal import SignIn

/// The keys of the gateway's own sessions: a key ring in the state directory, and what verifies with it.
final class SessionKeyService: SignIn.SessionKeys {
    /// Reads the ring and rotates it.
    let keys: AssertionKeyService
    private let verifying = Locked<(keys: AssertionKeys, set: KeySet)?>(nil)

    init(_ keys: AssertionKeyService) {
        self.keys = keys
    }

    var signing: AssertionKey? { keys.current?.signing }

    /// Made anew when the ring is another one.
    var keySet: KeySet? {
        guard let current = keys.current else { return nil }
        return verifying.withLock { known in
            if let known, known.keys === current { return known.set }
            guard let set = Self.set(current) else { return nil }
            known = (current, set)
            return set
        }
    }

    /// Nil is not to be expected of a document of the gateway's own.
    private static func set(_ keys: AssertionKeys) -> KeySet? {
        try? KeySet(jwks: keys.document, algorithms: [.es256], generation: KeySetGeneration.next())
    }
}
