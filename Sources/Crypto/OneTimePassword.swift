internal import COpenSSL

/// Codes of authenticator apps: HOTP (RFC 4226) over HMAC-SHA-1 and, by the clock, TOTP (RFC 6238) with steps of 30 s.
package enum OneTimePassword {
    /// Seconds.
    package static let step: Int64 = 30

    /// The code for a counter value.
    ///
    /// - Parameter digits: 6 to 9.
    package static func code(key: Secret, counter: UInt64, digits: Int = 6) -> String {
        let message = (0..<8).map { UInt8(truncatingIfNeeded: counter >> (56 - 8 * UInt64($0))) }
        let hash = HMACSHA1.authenticationCode(for: message, key: key.expose())
        // Dynamic truncation (RFC 4226, 5.3): four bytes at the offset that the last byte states, without the sign bit.
        let offset = Int(hash[19] & 0xf)
        let number = hash[offset..<(offset + 4)].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
        let modulus = (0..<digits).reduce(UInt32(1)) { product, _ in product * 10 }
        let text = String(number % modulus)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    /// The counter value at a time, in seconds since 1970.
    package static func counter(at seconds: Int64) -> UInt64 { UInt64(max(0, seconds) / step) }

    /// The counter value for which `code` is valid: that of the current step, or of one step on either side (RFC 6238,
    /// 5.2 and 6). Nil if there is none.
    ///
    /// A caller that accepts a code must store its counter value, and refuse this and earlier ones afterwards.
    package static func match(_ code: String, key: Secret, at seconds: Int64) -> UInt64? {
        let now = counter(at: seconds)
        let given = Array(code.utf8)
        var match: UInt64?
        for counter in (now == 0 ? 0 : now - 1)...(now + 1) {
            if constantTimeEquals(Array(Self.code(key: key, counter: counter).utf8), given) { match = counter }
        }
        return match
    }
}

/// HMAC with SHA-1 (RFC 2104, RFC 2202), which is still sound for one-time passwords and for nothing else here.
enum HMACSHA1 {
    static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA1.byteCount)
        let result = HMAC(MessageDigest.sha1.handle, key, Int32(key.count), message, message.count, &code, nil)
        // As for SHA-256: no substitute would be safe to return.
        precondition(result != nil, "HMAC-SHA-1 is not available")
        return code
    }
}
