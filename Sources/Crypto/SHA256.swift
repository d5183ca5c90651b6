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
        // OpenSSL's HMAC() looks its parts up by name at each call, which takes longer than both digests.
        var block = key.count > blockByteCount ? SHA256.hash(key) : key
        block.append(contentsOf: repeatElement(0, count: blockByteCount - block.count))
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let inner = digest(block.map { $0 ^ 0x36 }, message, in: context)
        return digest(block.map { $0 ^ 0x5c }, inner, in: context)
    }

    private static let blockByteCount = 64

    /// The digest of both texts, concatenated.
    private static func digest(_ block: [UInt8], _ text: [UInt8], in context: OpaquePointer?) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: SHA256.byteCount)
        let isDone =
            EVP_DigestInit_ex(context, MessageDigest.sha256.handle, nil) == 1
            && EVP_DigestUpdate(context, block, block.count) == 1
            && EVP_DigestUpdate(context, text, text.count) == 1
            && EVP_DigestFinal_ex(context, &digest, nil) == 1
        precondition(isDone, "SHA-256 is not available")
        return digest
    }
}
