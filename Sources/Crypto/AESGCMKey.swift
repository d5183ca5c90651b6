internal import COpenSSL
internal import Encoding

/// A key for AES-256-GCM (NIST SP 800-38D).
///
/// A sealed text is a 12-byte random nonce, the ciphertext and a 16-byte tag, in this order. Random nonces bound one
/// key to 2^32 sealed texts (SP 800-38D, 8.3).
package struct AESGCMKey: Sendable {
    package static let keyByteCount = 32
    private static let nonceByteCount = 12
    private static let tagByteCount = 16

    private let key: Secret

    /// - Throws: ``CryptographyError/unacceptableKey(_:)`` unless the key has 32 bytes.
    package init(_ key: Secret) throws(CryptographyError) {
        guard key.expose().count == Self.keyByteCount else { throw .unacceptableKey("AES-256 keys have 32 bytes") }
        self.key = key
    }

    /// Encrypts `plaintext` and binds it to `authenticating`, which is not part of the result and must be given again
    /// to open it.
    package func seal(_ plaintext: [UInt8], authenticating: [UInt8]) throws(CryptographyError) -> [UInt8] {
        try seal(plaintext, authenticating: authenticating, nonce: SecureRandom.bytes(Self.nonceByteCount))
    }

    /// As ``seal(_:authenticating:)`` with the nonce given: for known-answer tests only. A nonce must never repeat.
    func seal(
        _ plaintext: [UInt8], authenticating: [UInt8], nonce: [UInt8]
    ) throws(CryptographyError) -> [UInt8] {
        guard nonce.count == Self.nonceByteCount else { throw .failed("AES-GCM nonce size") }
        let context = CipherContext()
        try context.start(key: key.expose(), nonce: nonce, encrypting: true)
        try context.authenticate(authenticating)
        let ciphertext = try context.update(plaintext)
        guard context.finish() else { throw failure("AES-GCM seal") }
        return nonce + ciphertext + (try context.tag(Self.tagByteCount))
    }

    /// Decrypts a text that ``seal(_:authenticating:)`` made.
    ///
    /// - Throws: ``CryptographyError/notAuthentic`` for anything this key did not seal with the same `authenticating`.
    package func open(_ sealed: [UInt8], authenticating: [UInt8]) throws(CryptographyError) -> [UInt8] {
        guard sealed.count >= Self.nonceByteCount + Self.tagByteCount else { throw .notAuthentic }
        let context = CipherContext()
        try context.start(key: key.expose(), nonce: Array(sealed.prefix(Self.nonceByteCount)), encrypting: false)
        try context.expectTag(Array(sealed.suffix(Self.tagByteCount)))
        try context.authenticate(authenticating)
        let plaintext = try context.update(Array(sealed.dropFirst(Self.nonceByteCount).dropLast(Self.tagByteCount)))
        guard context.finish() else {
            clearErrors()
            throw .notAuthentic
        }
        return plaintext
    }
}

/// One AES-256-GCM operation in OpenSSL. It never leaves the function that makes it.
private final class CipherContext {
    private let context = EVP_CIPHER_CTX_new()

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    func start(key: [UInt8], nonce: [UInt8], encrypting: Bool) throws(CryptographyError) {
        let result = EVP_CipherInit_ex2(
            context, BlockCipher.aes256GCM.handle, key, nonce, encrypting ? 1 : 0, nil)
        guard result == 1 else { throw failure("AES-GCM start") }
    }

    func authenticate(_ data: [UInt8]) throws(CryptographyError) {
        var written: Int32 = 0
        guard let count = Int32(exactly: data.count),
            EVP_CipherUpdate(context, nil, &written, data, count) == 1
        else { throw failure("AES-GCM authenticated data") }
    }

    func update(_ input: [UInt8]) throws(CryptographyError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: input.count)
        var written: Int32 = 0
        guard let count = Int32(exactly: input.count),
            EVP_CipherUpdate(context, &output, &written, input, count) == 1, written == count
        else { throw failure("AES-GCM text") }
        return output
    }

    /// Whether the operation succeeded; when opening, whether the tag is valid.
    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: 16)
        var written: Int32 = 0
        return EVP_CipherFinal_ex(context, &rest, &written) == 1
    }

    func tag(_ byteCount: Int) throws(CryptographyError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: byteCount)
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(byteCount), &tag) == 1 else {
            throw failure("AES-GCM tag")
        }
        return tag
    }

    func expectTag(_ tag: [UInt8]) throws(CryptographyError) {
        var tag = tag
        guard EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
            throw failure("AES-GCM tag")
        }
    }
}

/// A cipher that is fetched from OpenSSL once and cached.
///
/// `@unchecked Sendable`: an `EVP_CIPHER` is reference counted and never changes after it is fetched.
private final class BlockCipher: @unchecked Sendable {
    static let aes256GCM = BlockCipher(fetching: "AES-256-GCM", orBuiltIn: EVP_aes_256_gcm())

    let handle: OpaquePointer?

    private init(fetching name: String, orBuiltIn builtIn: OpaquePointer?) {
        handle = EVP_CIPHER_fetch(nil, name, nil) ?? builtIn
    }

    deinit {
        EVP_CIPHER_free(handle)
    }
}
