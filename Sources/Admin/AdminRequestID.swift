internal import Cryptography
internal import Encoding

/// The identifier of one call of the admin listener, in its refusal and in the log.
enum AdminRequestID {
    static func make() -> String { "admin-" + Hexadecimal.encode(SecureRandom.bytes(8)) }
}
