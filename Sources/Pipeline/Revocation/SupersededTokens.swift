/// Tokens of one session that a newer token supersedes.
package struct SupersededTokens: Sendable, Equatable {
    /// The `iss` of the tokens.
    package var issuer: String
    /// Their `sid`.
    package var sessionID: String
    /// Tokens with a lower number than this are no longer valid.
    package var rotation: Int64
    /// The second since 1970 from which none of them would be valid anyway.
    package var endsAt: Int64

    package init(issuer: String, sessionID: String, rotation: Int64, endsAt: Int64) {
        self.issuer = issuer
        self.sessionID = sessionID
        self.rotation = rotation
        self.endsAt = endsAt
    }
}

extension RevocationList {
    /// The claim that numbers the tokens of a session of the gateway, from 0.
    package static let rotationClaim = "rotation"
}
