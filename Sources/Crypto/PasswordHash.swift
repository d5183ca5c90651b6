internal import COpenSSL
internal import Encoding

/// Password hashes with scrypt (RFC 7914).
///
/// A stored hash states its parameters: `scrypt$<log2 N>$<r>$<p>$<salt, hex>$<hash, hex>`, so that the cost can be
/// raised later without losing what is stored. Hashing takes about 50 ms and 32 MiB: never do it on an event loop.
package enum PasswordHash {
    /// N = 2^15.
    package static let usualCost: UInt64 = 15
    private static let saltByteCount = 16
    private static let hashByteCount = 32

    private struct Cost {
        var logN: UInt64
        var r: UInt64
        var p: UInt64

        /// scrypt's own need is 128·N·r bytes; the rest is its working space.
        var memoryLimit: UInt64 { 128 * r * ((1 << logN) + p + 2) + (1 << 20) }

        /// The limits that keep a stored text from costing minutes or gigabytes.
        var isReasonable: Bool { (10...18).contains(logN) && (1...16).contains(r) && (1...8).contains(p) }
    }

    /// A new hash of `password` with a random salt, r = 8 and p = 1.
    ///
    /// - Parameter logN: 10 to 18.
    package static func make(_ password: Secret, logN: UInt64 = usualCost) throws(CryptographyError) -> String {
        let cost = Cost(logN: logN, r: 8, p: 1)
        let salt = SecureRandom.bytes(saltByteCount)
        let hash = try derive(password, salt: salt, cost: cost)
        return "scrypt$\(cost.logN)$\(cost.r)$\(cost.p)$\(Hexadecimal.encode(salt))$\(Hexadecimal.encode(hash))"
    }

    /// Whether `stored` was made from `password`. False for a text that isn't a stored hash.
    package static func matches(_ password: Secret, _ stored: String) -> Bool {
        let parts = stored.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "scrypt",
            let logN = UInt64(parts[1]), let r = UInt64(parts[2]), let p = UInt64(parts[3]),
            let salt = Hexadecimal.decode(parts[4]), let expected = Hexadecimal.decode(parts[5]),
            expected.count == hashByteCount
        else { return false }
        let cost = Cost(logN: logN, r: r, p: p)
        guard cost.isReasonable, let hash = try? derive(password, salt: salt, cost: cost) else { return false }
        return constantTimeEquals(hash, expected)
    }

    private static func derive(
        _ password: Secret, salt: [UInt8], cost: Cost
    ) throws(CryptographyError) -> [UInt8] {
        let password = password.expose().map { CChar(bitPattern: $0) }
        var hash = [UInt8](repeating: 0, count: hashByteCount)
        let result = EVP_PBE_scrypt(
            password, password.count, salt, salt.count, 1 << cost.logN, cost.r, cost.p, cost.memoryLimit, &hash,
            hash.count)
        guard result == 1 else { throw failure("scrypt") }
        return hash
    }
}
