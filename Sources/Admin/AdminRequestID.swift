internal import Cryptography
internal import Encoding

/// The identifier of one admin listener call, in its refusal and in logs.
enum AdminRequestID {
    static func make() -> String { "admin-" + Hexadecimal.encode(SecureRandom.bytes(8)) }
}
