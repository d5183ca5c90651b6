/// HKDF with SHA-256 (RFC 5869).
package enum HKDFSHA256 {
    /// Derives `byteCount` bytes, at most 8160, from `input`.
    package static func derive(from input: [UInt8], salt: [UInt8], info: [UInt8], byteCount: Int) -> [UInt8] {
        precondition(byteCount <= 255 * SHA256.byteCount, "HKDF gives at most 255 blocks (RFC 5869, 2.3)")
        let key = HMACSHA256.authenticationCode(for: input, key: salt)
        var result: [UInt8] = []
        var block: [UInt8] = []
        var counter: UInt8 = 1
        while result.count < byteCount {
            block = HMACSHA256.authenticationCode(for: block + info + [counter], key: key)
            result += block
            counter &+= 1
        }
        return Array(result.prefix(byteCount))
    }
}
