/// The reason that a token is not accepted. The raw values are for logs and metrics; a client learns at most that its
/// token expired.
package enum RejectReason: String, Error, Sendable, CaseIterable {
    // The token's form.
    case tokenTooLarge = "token-too-large"
    case malformedToken = "malformed-token"
    case malformedHeader = "malformed-header"
    case malformedPayload = "malformed-payload"

    // Its header.
    case algorithmNotAllowed = "algorithm-not-allowed"
    case keyIDInvalid = "key-id-invalid"
    case criticalHeader = "critical-header"
    case unencodedPayload = "unencoded-payload"
    case keyInHeader = "key-in-header"
    case typeNotAllowed = "type-not-allowed"

    // Its issuer and key.
    case issuerInvalid = "issuer-invalid"
    case unknownIssuer = "unknown-issuer"
    case issuerNotAccepted = "issuer-not-accepted"
    case unknownKey = "unknown-key"
    case badSignature = "bad-signature"

    // The claims.
    case expiryInvalid = "expiry-invalid"
    case expired = "expired"
    case notBeforeInvalid = "not-before-invalid"
    case notYetValid = "not-yet-valid"
    case issuedAtInvalid = "issued-at-invalid"
    case issuedInFuture = "issued-in-future"
    case tokenUseInvalid = "token-use-invalid"
    case tokenUseNotAccepted = "token-use-not-accepted"
    case clientNotAllowed = "client-not-allowed"
    case audienceNotAllowed = "audience-not-allowed"
    case subjectInvalid = "subject-invalid"
    case claimMissing = "claim-missing"

    // Events after the token was issued.
    case revoked = "token-revoked"
}
