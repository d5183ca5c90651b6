/// The signature algorithms that can be configured, by their JWS names (RFC 7518, 3.1).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case rs256 = "RS256"
}
