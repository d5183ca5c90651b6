// Compiled by run.sh into one module with what Sources/Pipeline needs to read a key set.

import Cryptography
import Encoding

private let algorithms: [SignatureAlgorithm] = [
    .rs256, .rs384, .rs512, .ps256, .ps384, .ps512, .es256, .es384, .edDSA, .hs256,
]

private func number(_ member: String, of key: JSONObject) -> [UInt8] {
    guard let text = key[member]?.stringValue, let bytes = Base64URL.decode(text.utf8) else {
        preconditionFailure("\(member) of a key that is used is not Base64URL")
    }
    return bytes
}

/// Checks a key of the set against the document.
private func check(_ key: JSONObject, for algorithm: SignatureAlgorithm) {
    precondition(key["use"].map { $0 == "sig" } ?? true, "a key for something else is used")
    precondition(key["key_ops"].map { $0.arrayValue?.contains("verify") == true } ?? true, "a key must not verify")
    precondition(key["alg"].map { $0 == .string(algorithm.rawValue) } ?? true, "a key is used with another algorithm")
    for name in ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] { precondition(key[name] == nil, "a secret is used") }
    switch algorithm.keyType {
    case .rsa:
        precondition(key["kty"] == "RSA", "a key is of another type")
        let modulus = number("n", of: key).drop { $0 == 0 }
        let exponent = number("e", of: key).drop { $0 == 0 }
        let bits = modulus.count * 8 - (modulus.first?.leadingZeroBitCount ?? 0)
        precondition((2048...16384).contains(bits) && modulus.last.map { $0 & 1 } == 1, "a weak modulus is used")
        precondition(exponent.count >= 3 && exponent.last.map { $0 & 1 } == 1, "a weak exponent is used")
    case .ellipticCurve(let curve):
        precondition(key["kty"] == "EC" && key["crv"] == .string(curve.rawValue), "a key is of another type")
        precondition(number("x", of: key).count == curve.byteCount, "a coordinate is too short or too long")
        precondition(number("y", of: key).count == curve.byteCount, "a coordinate is too short or too long")
    case .ed25519:
        precondition(key["kty"] == "OKP" && key["crv"] == "Ed25519", "a key is of another type")
        precondition(number("x", of: key).count == 32, "a point is too short or too long")
    case .secret:
        preconditionFailure("a secret was read from a document")
    }
}

/// Input: a JWK Set.
@_cdecl("fuzzKeySet")
public func fuzzKeySet(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let document = Array(UnsafeBufferPointer(start: start, count: count))
    guard let set = try? KeySet(jwks: document, algorithms: algorithms, generation: 1) else { return 0 }
    guard let elements = try? JSON.parse(document)["keys"]?.arrayValue else {
        preconditionFailure("what holds no keys is a set")
    }
    precondition(set.keyIDs.count + set.dropped.count == elements.count, "a key is neither used nor dropped")
    precondition(set.isEmpty == set.keyIDs.isEmpty, "the set is not as empty as it says")
    precondition(Set(set.keyIDs.map { Array($0.utf8) }).count == set.keyIDs.count, "two keys have one name")
    for keyID in set.keyIDs {
        precondition((1...256).contains(keyID.utf8.count), "a name is too short or too long")
        let named = elements.compactMap(\.objectValue).filter {
            $0["kid"]?.stringValue?.hasSameBytes(as: keyID) == true
        }
        let found = algorithms.filter { set.key(id: keyID, algorithm: $0) != nil }
        precondition(!found.isEmpty && found.allSatisfy { set.key(id: keyID, algorithm: $0)?.algorithm == $0 })
        for algorithm in found {
            // Others of the name may have been left out, for being no keys.
            precondition(!named.isEmpty, "a key has another's name")
            if named.count == 1 { check(named[0], for: algorithm) }
        }
    }
    return 0
}
