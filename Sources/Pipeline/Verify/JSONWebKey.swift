internal import Cryptography
internal import Encoding

/// One element of a key set (RFC 7517, 4), converted into verification keys: one for each algorithm that it may be used
/// with.
struct JSONWebKey {
    struct Unusable: Error {
        let text: String
    }

    let keyID: String
    /// At least one, each for a different algorithm.
    let keys: [VerificationKey]

    /// Members of private and symmetric keys (RFC 7518, 6.2.2 and 6.3.2). Anyone who can read such a set could sign
    /// with it.
    private static let secretMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"]

    /// - Parameter algorithms: the issuer's. A key without `alg` is for those that fit its type.
    init(_ json: JSON, algorithms: [SignatureAlgorithm], origin: KeySet.Origin) throws(Unusable) {
        guard let key = json.objectValue else { throw Unusable(text: "not an object") }
        let keyID = try Self.keyID(key, origin)
        try Self.requireSigning(key, origin)
        let keyType = try Self.keyType(key)
        let algorithms = try Self.algorithms(of: key, keyType, among: algorithms)
        self.keyID = keyID
        do {
            self.keys = try Self.keys(key, keyType, algorithms)
        } catch .unacceptableKey(let reason) {
            throw Unusable(text: reason)
        } catch {
            throw Unusable(text: "not taken by OpenSSL")
        }
    }

    /// Empty for a key without a `kid`.
    private static func keyID(_ key: JSONObject, _ origin: KeySet.Origin) throws(Unusable) -> String {
        if origin == .own, key["kid"] == nil { return "" }
        guard let keyID = key["kid"]?.stringValue, (1...TokenHeader.maximumKeyIDBytes).contains(keyID.utf8.count)
        else { throw Unusable(text: "no kid of 1 to 256 bytes") }
        return keyID
    }

    private static func requireSigning(_ key: JSONObject, _ origin: KeySet.Origin) throws(Unusable) {
        if let use = key["use"], use != "sig" { throw Unusable(text: "use is not sig") }
        if let operations = key["key_ops"], operations.arrayValue?.contains("verify") != true {
            throw Unusable(text: "key_ops lacks verify")
        }
        if key["kty"] == "oct" {
            guard origin == .own else { throw Unusable(text: "kty is oct, a secret") }
            return
        }
        guard !secretMembers.contains(where: { key[$0] != nil }) else {
            throw Unusable(text: "holds its private key")
        }
    }

    private static func keyType(_ key: JSONObject) throws(Unusable) -> SignatureAlgorithm.KeyType {
        switch key["kty"] {
        case "RSA": return .rsa
        case "EC":
            guard let curve = EllipticCurve.allCases.first(where: { key["crv"] == .string($0.rawValue) }) else {
                throw Unusable(text: "crv is not P-256, P-384 or P-521")
            }
            return .ellipticCurve(curve)
        case "OKP":
            guard key["crv"] == "Ed25519" else { throw Unusable(text: "crv is not Ed25519") }
            return .ed25519
        case "oct": return .secret
        default: throw Unusable(text: "kty is not RSA, EC or OKP")
        }
    }

    /// RFC 7517, 4.4: `alg` names the one algorithm of the key; it never widens what the issuer may use.
    private static func algorithms(
        of key: JSONObject, _ keyType: SignatureAlgorithm.KeyType, among configured: [SignatureAlgorithm]
    ) throws(Unusable) -> [SignatureAlgorithm] {
        guard let name = key["alg"] else {
            let fitting = configured.filter { $0.keyType == keyType }
            guard !fitting.isEmpty else { throw Unusable(text: "of a type that none of the issuer's algorithms takes") }
            return fitting
        }
        guard let algorithm = configured.first(where: { name == .string($0.rawValue) }) else {
            throw Unusable(text: "alg is not one of the issuer's")
        }
        guard algorithm.keyType == keyType else { throw Unusable(text: "alg does not fit kty") }
        return [algorithm]
    }

    private static func keys(
        _ key: JSONObject, _ keyType: SignatureAlgorithm.KeyType, _ algorithms: [SignatureAlgorithm]
    ) throws(CryptographyError) -> [VerificationKey] {
        var keys: [VerificationKey] = []
        for algorithm in algorithms {
            switch keyType {
            case .rsa:
                let (modulus, exponent) = (try bytes("n", of: key), try bytes("e", of: key))
                keys.append(try .rsa(modulus: modulus, exponent: exponent, algorithm: algorithm))
            case .ellipticCurve(let curve):
                let (x, y) = (try bytes("x", of: key), try bytes("y", of: key))
                keys.append(try .ellipticCurve(curve, x: x, y: y, algorithm: algorithm))
            case .ed25519:
                keys.append(try .ed25519(bytes("x", of: key)))
            case .secret:
                keys.append(try .shared(Secret(bytes("k", of: key)), algorithm: algorithm))
            }
        }
        return keys
    }

    private static func bytes(_ member: String, of key: JSONObject) throws(CryptographyError) -> [UInt8] {
        guard let bytes = key[member]?.stringValue.flatMap({ Base64URL.decode($0.utf8) }) else {
            throw .unacceptableKey("\(member) is not base64url")
        }
        return bytes
    }
}
