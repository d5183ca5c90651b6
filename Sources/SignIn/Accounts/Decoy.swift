internal import Cryptography
internal import Encoding

/// What Cognito is asked with where the answer is already known to be no: so that it takes as long, and says the same, as
/// where it is not.
enum Decoy {
    /// The name of a user that nobody can be.
    static func username() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) + "@gatehouse.invalid" }

    /// Nobody's password.
    static func password() -> Secret { Secret(Hexadecimal.encode(SecureRandom.bytes(24))) }

    /// The proof of nobody's password: as long as a real one.
    static func signature() -> String { Base64.encode(SecureRandom.bytes(32)) }
}
