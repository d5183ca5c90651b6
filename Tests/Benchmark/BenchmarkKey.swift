internal import COpenSSL
internal import Cryptography
import Encoding

/// A key that is thrown away, of one of the algorithms that are measured.
struct BenchmarkKey {
    struct Signature {
        /// As a token has it.
        let ofToken: [UInt8]
        /// As OpenSSL wants it.
        let encoded: [UInt8]
    }

    let algorithm: SignatureAlgorithm
    /// The members of its JSON Web Key.
    let members: JSONObject
    let bare: BareVerification
    let sign: ([UInt8]) throws -> Signature

    static func rs256() throws -> BenchmarkKey {
        let key = try RSASigningKey.generate(bits: 2048)
        guard let bare = BareVerification(modulus: key.modulus, exponent: key.exponent) else { throw failure }
        let members: JSONObject = [
            "kty": "RSA", "n": .string(Base64URL.encode(key.modulus)), "e": .string(Base64URL.encode(key.exponent)),
        ]
        return BenchmarkKey(algorithm: .rs256, members: members, bare: bare) { message in
            let signature = try key.sign(message)
            return Signature(ofToken: signature, encoded: signature)
        }
    }

    static func es256() throws -> BenchmarkKey {
        let key = try generated("EC", group: "P-256")
        var point: UnsafeMutablePointer<UInt8>?
        defer { gatehouse_free(point) }
        guard EVP_PKEY_get1_encoded_public_key(key, &point) == 65, let point,
            let bare = BareVerification(owning: key, hashes: true)
        else { throw failure }
        let coordinates = Array(UnsafeBufferPointer(start: point, count: 65))
        let members: JSONObject = [
            "kty": "EC", "crv": "P-256", "x": .string(Base64URL.encode(Array(coordinates[1...32]))),
            "y": .string(Base64URL.encode(Array(coordinates[33...]))),
        ]
        return BenchmarkKey(algorithm: .es256, members: members, bare: bare) { message in
            let encoded = try bare.sign(message)
            return Signature(ofToken: raw(encoded), encoded: encoded)
        }
    }

    static func edDSA() throws -> BenchmarkKey {
        let key = try generated("ED25519", group: nil)
        var x = [UInt8](repeating: 0, count: 32)
        var count = x.count
        guard EVP_PKEY_get_raw_public_key(key, &x, &count) == 1, count == 32,
            let bare = BareVerification(owning: key, hashes: false)
        else { throw failure }
        let members: JSONObject = ["kty": "OKP", "crv": "Ed25519", "x": .string(Base64URL.encode(x))]
        return BenchmarkKey(algorithm: .edDSA, members: members, bare: bare) { message in
            let signature = try bare.sign(message)
            return Signature(ofToken: signature, encoded: signature)
        }
    }

    private static let failure = CryptographyError.failed("a key for the benchmark")

    private static func generated(_ type: String, group: String?) throws -> OpaquePointer {
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            group.map({ EVP_PKEY_CTX_set_group_name(context, $0) == 1 }) ?? true,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw failure }
        return key
    }

    /// r and s, 32 bytes each, of what OpenSSL made: SEQUENCE { INTEGER r, INTEGER s }, each length one byte.
    private static func raw(_ encoded: [UInt8]) -> [UInt8] {
        var rest = encoded.dropFirst(2)
        return (0..<2).flatMap { _ in
            let count = Int(rest[rest.startIndex + 1])
            let digits = rest.dropFirst(2).prefix(count).suffix(32)
            rest = rest.dropFirst(2 + count)
            return [UInt8](repeating: 0, count: 32 - digits.count) + digits
        }
    }
}
