package import Cryptography

/// Why a document is not a key set.
package enum KeySetError: String, Error, Sendable {
    case tooLarge = "too-large"
    case notJSON = "not-json"
    case noKeys = "no-keys-member"
    case tooManyKeys = "too-many-keys"
}

/// An issuer's public keys (a JWK Set, RFC 7517, 5), those that can verify its tokens.
package struct KeySet: Sendable {
    package static let maximumBytes = 1 << 20
    package static let maximumKeys = 64

    private struct Entry: Sendable {
        let keyID: String
        let key: VerificationKey
    }

    /// The maker's number for this set. No two sets of one process share it, so that equal numbers mean the same keys.
    package let generation: UInt64
    /// One line for each key left out, with its place and the reason.
    package let dropped: [String]
    private let entries: [Entry]

    /// Whether no key can be used. Such a set verifies nothing.
    package var isEmpty: Bool { entries.isEmpty }
    package var keyIDs: [String] { entries.map(\.keyID) }

    /// Reads a JWK Set. Keys that can't be used are left out and the others work (RFC 7517, 5).
    package init(jwks document: [UInt8], generation: UInt64) throws(KeySetError) {
        guard document.count <= Self.maximumBytes else { throw .tooLarge }
        guard let json = try? JSON.parse(document, limits: JSONLimits(maximumBytes: Self.maximumBytes)) else {
            throw .notJSON
        }
        guard let keys = json["keys"]?.arrayValue else { throw .noKeys }
        guard keys.count <= Self.maximumKeys else { throw .tooManyKeys }
        var usable: [(index: Int, entry: Entry)] = []
        var dropped: [String] = []
        for (index, json) in keys.enumerated() {
            do {
                usable.append((index, try Self.entry(json)))
            } catch {
                dropped.append("keys[\(index)]: \(error.text)")
            }
        }
        // Of two keys with one name neither can be meant (RFC 7517, 4.5: "distinct").
        let repeated = usable.filter { candidate in
            usable.contains { $0.index != candidate.index && $0.entry.keyID.hasSameBytes(as: candidate.entry.keyID) }
        }.map(\.index)
        dropped += repeated.map { "keys[\($0)]: kid is not unique" }
        self.entries = usable.filter { !repeated.contains($0.index) }.map(\.entry)
        self.dropped = dropped
        self.generation = generation
    }

    /// The key of this `kid`, compared byte for byte.
    package func key(id: String) -> VerificationKey? {
        entries.first { $0.keyID.hasSameBytes(as: id) }?.key
    }

    /// The key of this `kid` if it is for this algorithm.
    package func key(id: String, algorithm: SignatureAlgorithm) -> VerificationKey? {
        key(id: id).flatMap { $0.algorithm == algorithm ? $0 : nil }
    }

    private struct Unusable: Error {
        let text: String
    }

    private static func entry(_ json: JSON) throws(Unusable) -> Entry {
        guard let key = json.objectValue else { throw Unusable(text: "not an object") }
        guard let keyID = key["kid"]?.stringValue, (1...TokenHeader.maximumKeyIDBytes).contains(keyID.utf8.count)
        else { throw Unusable(text: "no kid of 1 to 256 bytes") }
        try requireSigningKey(key)
        return Entry(keyID: keyID, key: try rsaKey(key))
    }

    private static func requireSigningKey(_ key: JSONObject) throws(Unusable) {
        guard key["kty"] == "RSA" else { throw Unusable(text: "kty is not RSA") }
        if let use = key["use"], use != "sig" { throw Unusable(text: "use is not sig") }
        if let operations = key["key_ops"], operations.arrayValue?.contains("verify") != true {
            throw Unusable(text: "key_ops lacks verify")
        }
        if let algorithm = key["alg"], algorithm != .string(SignatureAlgorithm.rs256.rawValue) {
            throw Unusable(text: "alg is not RS256")
        }
        // Whoever can read the set could sign with it.
        guard key["d"] == nil else { throw Unusable(text: "holds its private key") }
    }

    private static func rsaKey(_ key: JSONObject) throws(Unusable) -> VerificationKey {
        guard let modulus = key["n"]?.stringValue.flatMap({ Base64URL.decode($0.utf8) }),
            let exponent = key["e"]?.stringValue.flatMap({ Base64URL.decode($0.utf8) })
        else { throw Unusable(text: "n or e is not base64url") }
        do {
            return try VerificationKey.rsa(modulus: modulus, exponent: exponent)
        } catch .unacceptableKey(let reason) {
            throw Unusable(text: reason)
        } catch {
            throw Unusable(text: "not an RSA key")
        }
    }
}
