package import Cryptography
internal import Encoding

/// The reason that a document is not a key set.
package enum KeySetError: String, Error, Sendable {
    case tooLarge = "too-large"
    case notJSON = "not-json"
    case noKeys = "no-keys-member"
    case tooManyKeys = "too-many-keys"
}

/// The keys of an issuer (a JWK Set, RFC 7517, 5) that can verify its tokens.
package struct KeySet: Sendable {
    package static let maximumBytes = 1 << 20
    /// The maximum number of keys in a published set.
    package static let maximumKeys = 64

    /// The origin of a document.
    package enum Origin: Sendable {
        /// A public document: it contains no secret, and each key has a `kid`.
        case published
        /// A trusted document: it may have any number of keys, secrets included, and keys without a `kid`.
        case own
    }

    private struct Entry: Sendable {
        let keyID: String
        let keys: [VerificationKey]
    }

    /// A number that the creator assigns. No two sets of one process share it, so equal numbers mean the same keys.
    package let generation: UInt64
    /// One line for each omitted key, with its index and the reason.
    package let dropped: [String]
    private let entries: [Entry]

    /// Whether no key can be used. Such a set verifies nothing.
    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    var keyIDs: [String] { entries.map(\.keyID) }

    /// Parses a JWK Set. Unusable keys are omitted, and the others work (RFC 7517, 5).
    ///
    /// - Parameters:
    ///   - algorithms: the issuer's; a key for none of them is unusable.
    ///   - origin: the document's origin, which determines whether it may contain secrets and how many keys it may
    ///     have.
    package init(
        jwks document: [UInt8], algorithms: [SignatureAlgorithm] = [.rs256], origin: Origin = .published,
        generation: UInt64
    ) throws(KeySetError) {
        guard document.count <= Self.maximumBytes else { throw .tooLarge }
        guard let json = try? JSON.parse(document, limits: JSONLimits(maximumBytes: Self.maximumBytes)) else {
            throw .notJSON
        }
        guard let keys = json["keys"]?.arrayValue else { throw .noKeys }
        guard origin == .own || keys.count <= Self.maximumKeys else { throw .tooManyKeys }
        var usable: [(index: Int, key: JSONWebKey)] = []
        var dropped: [String] = []
        for (index, json) in keys.enumerated() {
            do {
                usable.append((index, try JSONWebKey(json, algorithms: algorithms, origin: origin)))
            } catch {
                dropped.append("keys[\(index)]: \(error.text)")
            }
        }
        // Of two keys with the same `kid` neither is used, even if one of them is unusable (RFC 7517, 4.5: "distinct").
        let repeated = usable.filter { candidate in
            keys.indices.contains { $0 != candidate.index && Self.isKey(keys[$0], named: candidate.key.keyID) }
        }.map(\.index)
        dropped += repeated.map { "keys[\($0)]: kid is not unique" }
        self.entries = usable.filter { !repeated.contains($0.index) }.map {
            Entry(keyID: $0.key.keyID, keys: $0.key.keys)
        }
        self.dropped = dropped
        self.generation = generation
    }

    /// Keys for encryption (`use` is `enc`) never match.
    private static func isKey(_ key: JSON, named name: String) -> Bool {
        (key["kid"]?.stringValue ?? "").hasSameBytes(as: name) && key["use"] != "enc"
    }

    /// A set with the configured secret of an issuer that signs with HMAC.
    ///
    /// - Parameter keyID: empty for a secret whose tokens have no `kid`.
    package init(
        secret: Secret, keyID: String, algorithm: SignatureAlgorithm, generation: UInt64
    ) throws(CryptographyError) {
        entries = [Entry(keyID: keyID, keys: [try .shared(secret, algorithm: algorithm)])]
        dropped = []
        self.generation = generation
    }

    /// Whether the set has a key with this `kid`, for any algorithm.
    package func holds(id: String) -> Bool { keys(id: id) != nil }

    /// The keys with this `kid`, compared byte for byte: one for each of its algorithms. Nil if there are none.
    func keys(id: String) -> [VerificationKey]? {
        entries.first { $0.keyID.hasSameBytes(as: id) }?.keys
    }

    /// The key with this `kid` if it is for this algorithm; else nil.
    package func key(id: String, algorithm: SignatureAlgorithm) -> VerificationKey? {
        keys(id: id)?.first { $0.algorithm == algorithm }
    }
}
