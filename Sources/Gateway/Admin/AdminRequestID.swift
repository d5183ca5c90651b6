internal import Cryptography
internal import Encoding

/// What one call of the admin listener is known by, in its refusal and in the log.
enum AdminRequestID {
    static func make() -> String { "admin-" + Hexadecimal.encode(SecureRandom.bytes(8)) }
}
