package import Cryptography
internal import Encoding

/// The gateway's signed statement about a webhook event that it sends, in a JWT valid for 60 seconds. It names the
/// sender, the receiver and the SHA-256 of the body.
///
/// Its `typ` differs from an assertion's, so that a JWT from a receiver's log cannot be used as a user's assertion.
package struct WebhookEvent: Sendable {
    package static let type = "gatehouse-notice+jwt"
    private static let lifetime: Int64 = 60

    package var issuer: String
    package var audience: String
    /// The user that the event is about; nil if unknown.
    package var subject: String?
    package var event: String
    /// The identifier by which the receiver recognizes a repeated message (`jti`).
    package var key: String
    package var body: [UInt8]

    package init(issuer: String, audience: String, subject: String?, event: String, key: String, body: [UInt8]) {
        self.issuer = issuer
        self.audience = audience
        self.subject = subject
        self.event = event
        self.key = key
        self.body = body
    }

    /// - Parameter now: seconds since 1970.
    package func token(signedWith key: AssertionKey, now: Int64) throws(CryptographyError) -> String {
        var claims: JSONObject = [
            "iss": .string(issuer), "aud": .string(audience), "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + Self.lifetime)), "jti": .string(self.key), "event": .string(event),
            "body_sha256": .string(Base64URL.encode(SHA256.hash(body))),
        ]
        claims["sub"] = subject.map(JSON.string)
        return try key.token(of: claims, type: Self.type)
    }
}
