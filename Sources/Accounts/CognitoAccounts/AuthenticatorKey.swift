internal import Encoding

/// The key of an authenticator app, in the forms that the app reads.
struct AuthenticatorKey: Sendable {
    /// The key in Base32.
    var secret: String
    /// The user's name that the app shows.
    var account: String
    /// The service's name that the app shows.
    var issuer: String

    /// The text of the QR code for authenticator apps: the "Key Uri Format" of Google Authenticator.
    var uri: String {
        let (issuer, account) = (PercentEncoding.encode(issuer), PercentEncoding.encode(account))
        return "otpauth://totp/\(issuer):\(account)?secret=\(secret)&issuer=\(issuer)&algorithm=SHA1&digits=6&period=30"
    }
}
