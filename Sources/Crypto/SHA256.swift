internal import COpenSSL

/// SHA-256 (FIPS 180-4) of a whole message.
package enum SHA256 {
    /// The size of a digest in bytes.
    package static let byteCount = 32

    /// The 32-byte digest of `message`.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        let result = EVP_Digest(message, message.count, &digest, nil, MessageDigest.sha256.handle, nil)
        // It fails only without memory, and a made-up digest could be taken for a real one: stopping is the safe
        // answer.
        precondition(result == 1, "SHA-256 is not available")
        return digest
    }
}

/// HMAC with SHA-256 (RFC 2104, RFC 4231) of a whole message.
package enum HMACSHA256 {
    /// The 32-byte authentication code of `message` under `key`, which may have any length.
    package static func authenticationCode(for message: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: SHA256.byteCount)
        let result = HMAC(
            MessageDigest.sha256.handle, key, Int32(key.count), message, message.count, &code, nil)
        // As for SHA-256: there is no wrong code that would be safe to return.
        precondition(result != nil, "HMAC-SHA-256 is not available")
        return code
    }
}
