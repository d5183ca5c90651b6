package import Cryptography
internal import Encoding

/// Values for asking Cognito where the answer is already known to be no. The call then takes as long, and fails in the
/// same way, as a genuine one.
package enum Decoy {
    /// The name of a user that nobody can be.
    package static func username() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) + "@gatehouse.invalid" }

    /// Nobody's password.
    package static func password() -> Secret { Secret(Hexadecimal.encode(SecureRandom.bytes(24))) }

    /// A code of as many digits.
    package static func code(otherThan text: String) -> String {
        let digits = SecureRandom.bytes(text.utf8.count).map { UInt8(ascii: "0") + $0 % 10 }
        let code = String(decoding: digits, as: UTF8.self)
        return code.hasSameBytes(as: text) ? String(decoding: digits.map { 105 - $0 }, as: UTF8.self) : code
    }

    /// A session of nobody's sign-in.
    package static func session() -> String { Base64URL.encode(SecureRandom.bytes(600)) }

    /// The proof of nobody's password: as long as a real one.
    package static func signature() -> String { Base64.encode(SecureRandom.bytes(32)) }
}
