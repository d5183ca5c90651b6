/// Tokens of one session that another one has taken the place of.
package struct SupersededTokens: Sendable, Equatable {
    /// The `iss` of the tokens.
    package var issuer: String
    /// Their `sid`.
    package var sessionID: String
    /// Those with a lower number than this count no more.
    package var rotation: Int64
    /// The second since 1970 from which none of them would be valid any more.
    package var endsAt: Int64

    package init(issuer: String, sessionID: String, rotation: Int64, endsAt: Int64) {
        self.issuer = issuer
        self.sessionID = sessionID
        self.rotation = rotation
        self.endsAt = endsAt
    }
}

extension RevocationList {
    /// The claim by which the tokens of a session of the gateway's are numbered, from 0 on.
    package static let rotationClaim = "rotation"
}
