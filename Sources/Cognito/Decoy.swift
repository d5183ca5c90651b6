package import Cryptography
internal import Encoding

/// Decoy values for calls to Cognito that must fail. Such a call takes the same time, and fails in the same way, as a
/// genuine one.
package enum Decoy {
    /// Returns a user name that no user can have.
    package static func username() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) + "@gatehouse.invalid" }

    /// Returns a random password.
    package static func password() -> Secret { Secret(Hexadecimal.encode(SecureRandom.bytes(24))) }

    /// Returns a random code of the same length as `text`, and different from it.
    package static func code(otherThan text: String) -> String {
        let digits = SecureRandom.bytes(text.utf8.count).map { UInt8(ascii: "0") + $0 % 10 }
        let code = String(decoding: digits, as: UTF8.self)
        return code.hasSameBytes(as: text) ? String(decoding: digits.map { 105 - $0 }, as: UTF8.self) : code
    }

    /// Returns a random session, which belongs to no sign-in.
    package static func session() -> String { Base64URL.encode(SecureRandom.bytes(600)) }

    /// Returns a random proof of a password, with the length of a real one.
    package static func signature() -> String { Base64.encode(SecureRandom.bytes(32)) }
}
