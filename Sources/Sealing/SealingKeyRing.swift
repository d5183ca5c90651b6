package import Cryptography
internal import Encoding
internal import Locking

/// The reason why a sealing key cannot be used.
package enum SealingKeyError: Error, Equatable, Sendable {
    /// The key is not 32 bytes.
    case length
    /// The id is not 1–32 characters of `A-Za-z0-9_-`.
    case identifier
}

/// An AES-256 key that seals values held by clients.
package struct SealingKey: Sendable {
    /// The key's name in everything it seals, visible to clients.
    package let id: String

    let key: AESGCMKey

    /// - Parameters:
    ///   - id: 1–32 characters of `A-Za-z0-9_-`. If nil, sixteen hex digits derived from the key: a message
    ///     authentication code, which reveals nothing about the key.
    ///   - secret: exactly 32 random bytes.
    package init(id: String? = nil, _ secret: Secret) throws(SealingKeyError) {
        guard let key = try? AESGCMKey(secret) else { throw .length }
        let id = id ?? Self.derivedID(secret)
        guard Self.isIdentifier(id) else { throw .identifier }
        self.key = key
        self.id = id
    }

    private static func derivedID(_ secret: Secret) -> String {
        let code = HMACSHA256.authenticationCode(for: Array("gatehouse sealing key id".utf8), key: secret.expose())
        return Hexadecimal.encode(Array(code.prefix(8)))
    }

    /// Excludes in particular the dot, which ends the id in the text form.
    static func isIdentifier(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { $0.isASCIILetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }
}

/// The keys for the gateway's sealed values. The first one seals, all of them open: a new key is put in front, and an
/// old one is removed once everything it sealed has expired.
///
/// Keys shared by several gateways can change while in use.
package final class SealingKeyRing: Sendable {
    private struct Keys {
        let first: SealingKey
        let others: [SealingKey]
        var isBehind = false
    }

    private let keys: Locked<Keys>

    package init(sealing first: SealingKey, opening others: [SealingKey] = []) {
        keys = Locked(Keys(first: first, others: others))
    }

    var sealingKey: SealingKey { keys.withLock { $0.first } }

    func key(named id: String) -> SealingKey? {
        keys.withLock { keys in
            keys.first.id.hasSameBytes(as: id) ? keys.first : keys.others.first { $0.id.hasSameBytes(as: id) }
        }
    }

    package func holds(_ id: String) -> Bool { key(named: id) != nil }

    /// Replaces the keys with those of another ring.
    package func adopt(_ other: SealingKeyRing) {
        let new = other.keys.withLock { $0 }
        keys.withLock { $0 = new }
    }

    /// Sets whether other gateways may have changed the keys meanwhile.
    package func setBehind(_ isBehind: Bool) { keys.withLock { $0.isBehind = isBehind } }

    /// Whether a text that does not open may open after the keys have been read again.
    package func mayLackKey(of text: Secret) -> Bool { keys.withLock { $0.isBehind } && lacksKey(of: text) }

    /// Whether a text names a key that is not in the ring.
    package func lacksKey(of text: Secret) -> Bool { SealedText.keyID(of: text).map { !holds($0) } ?? false }
}
