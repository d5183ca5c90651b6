/// An error response of Apple (RFC 6749, 5.2).
struct AppleError: Error, Equatable, Sendable {
    let error: String
    var description: String?

    static let invalidClient = AppleError(error: "invalid_client")
    static let invalidGrant = AppleError(
        error: "invalid_grant", description: "The code has expired or has been revoked.")
    static let otherClient = AppleError(
        error: "invalid_grant", description: "client_id mismatch. The code was not issued to this client.")
    static let invalidToken = AppleError(
        error: "invalid_grant", description: "The token has expired or has been revoked.")
    static let unsupportedGrantType = AppleError(error: "unsupported_grant_type")
    static let invalidRequest = AppleError(error: "invalid_request")
}
