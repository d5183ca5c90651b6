internal import Pipeline

/// The key of an authenticator app, and how the app gets it.
struct AuthenticatorKey: Sendable {
    /// In base 32.
    var secret: String
    /// Whose it is, as the app shows it.
    var account: String
    /// Whose service it is for, as the app shows it.
    var issuer: String

    /// What a QR code for authenticator apps holds: the "Key Uri Format" of Google Authenticator.
    var uri: String {
        let (issuer, account) = (Self.encoded(issuer), Self.encoded(account))
        return "otpauth://totp/\(issuer):\(account)?secret=\(secret)&issuer=\(issuer)&algorithm=SHA1&digits=6&period=30"
    }

    /// Percent-encoded but for the unreserved characters (RFC 3986, 2.3).
    private static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
