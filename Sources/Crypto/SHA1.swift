internal import COpenSSL

/// SHA-1 (FIPS 180-4) of a whole message. It no longer protects anything: a WebSocket's handshake (RFC 6455 §4.2.2)
/// uses it to show that the other side understands the protocol, and nothing else here may use it.
package enum SHA1 {
    /// The size of a digest in bytes.
    package static let byteCount = 20

    /// The 20-byte digest of `message`.
    package static func hash(_ message: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: byteCount)
        let result = EVP_Digest(message, message.count, &digest, nil, MessageDigest.sha1.handle, nil)
        // It fails only without memory, like SHA-256.
        precondition(result == 1, "SHA-1 is not available")
        return digest
    }
}
