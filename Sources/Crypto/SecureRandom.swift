internal import COpenSSL

/// Unpredictable bytes for keys, nonces and identifiers.
package enum SecureRandom {
    /// `count` random bytes from OpenSSL's generator.
    package static func bytes(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard count > 0 else { return bytes }
        guard RAND_bytes(&bytes, Int32(count)) == 1 else {
            clearErrors()
            return kernelBytes(count)
        }
        return bytes
    }

    /// The kernel's generator (getrandom), used if OpenSSL's own cannot be seeded.
    private static func kernelBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
