internal import COpenSSL

/// A digest algorithm fetched from OpenSSL once and kept: an implicit fetch on each use costs more than a short hash.
///
/// `@unchecked Sendable`: an `EVP_MD` is reference counted and never changes after it is fetched.
final class MessageDigest: @unchecked Sendable {
    static let sha256 = MessageDigest(fetching: "SHA256", orBuiltIn: EVP_sha256())
    static let sha384 = MessageDigest(fetching: "SHA384", orBuiltIn: EVP_sha384())
    static let sha512 = MessageDigest(fetching: "SHA512", orBuiltIn: EVP_sha512())
    static let sha1 = MessageDigest(fetching: "SHA1", orBuiltIn: EVP_sha1())

    let handle: OpaquePointer?

    private init(fetching name: String, orBuiltIn builtIn: OpaquePointer?) {
        handle = EVP_MD_fetch(nil, name, nil) ?? builtIn
    }

    deinit {
        EVP_MD_free(handle)
    }
}
