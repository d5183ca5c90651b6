internal import Encoding

/// The key of an authenticator app, and how the app gets it.
struct AuthenticatorKey: Sendable {
    /// In base 32.
    var secret: String
    /// The user's name, as the app shows it.
    var account: String
    /// The service's name, as the app shows it.
    var issuer: String

    /// The text of the QR code for authenticator apps: the "Key Uri Format" of Google Authenticator.
    var uri: String {
        let (issuer, account) = (PercentEncoding.encode(issuer), PercentEncoding.encode(account))
        return "otpauth://totp/\(issuer):\(account)?secret=\(secret)&issuer=\(issuer)&algorithm=SHA1&digits=6&period=30"
    }
}
