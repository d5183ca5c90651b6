package import Encoding
package import Pipeline

/// The refusal of a direct call without, or instead of, Cognito's response: an error in Cognito's format, which its
/// SDKs understand.
package struct DirectCognitoRefusal: Error, Equatable {
    package var status = 400
    /// Cognito's name of the error.
    @Exact package var type: String
    @Exact package var message: String
    /// The reason for the log.
    package var reason: Reason
    /// The seconds after which to retry.
    package var retryAfter: Int?

    package static let notCarriedOut = DirectCognitoRefusal(
        status: 403, type: "ForbiddenException", message: "This operation is not available through this gateway.",
        reason: .request(.directCognito))

    static let tooLarge = DirectCognitoRefusal(
        status: 413, type: "RequestEntityTooLargeException", message: "The request body is too large.",
        reason: .request(.bodyTooLarge))

    /// AWS's error for a body that is not a JSON object.
    static let malformed = DirectCognitoRefusal(
        type: "SerializationException", message: "The request body is not a JSON object.",
        reason: .account(.malformedJSON))

    static let unknownClient = DirectCognitoRefusal(
        type: "ResourceNotFoundException", message: "User pool client does not exist.", reason: .cognito(.clientUnknown)
    )

    static let foreignToken = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "Invalid Access Token", reason: .account(.notAnAccessToken))

    /// Returns Cognito's response for an access token that it has not issued.
    package static func invalidAccessToken(_ reason: RejectReason) -> DirectCognitoRefusal {
        DirectCognitoRefusal(type: "NotAuthorizedException", message: "Invalid Access Token", reason: .token(reason))
    }

    /// Cognito's response for an access token that has expired.
    package static let expiredAccessToken = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "Access Token has expired", reason: .token(.expired))

    /// Cognito's response for an attribute that the app client has no right to write.
    static let attributeNotWritable = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "A client attempted to write unauthorized attribute",
        reason: .account(.attributeNotWritable))

    /// Cognito's response for a sign-in step that belongs to another user.
    package static let otherUser = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "Invalid session for the user.",
        reason: .cognito(.invalidSession))

    /// Cognito's response for an access token that was revoked.
    package static let revokedAccessToken = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "Access Token has been revoked",
        reason: .cognito(.tokenRevoked))

    /// Cognito's response for a refresh token that was revoked.
    package static let revokedRefreshToken = DirectCognitoRefusal(
        type: "NotAuthorizedException", message: "Refresh Token has been revoked",
        reason: .cognito(.tokenRevoked))

    /// Returns the refusal if Cognito is unavailable, or the gateway's own settings prevent the call. The caller can
    /// only wait.
    package static func unavailable(_ reason: Reason) -> DirectCognitoRefusal {
        DirectCognitoRefusal(
            status: 503, type: "InternalErrorException",
            message: "Sign-in is not available right now. Try again later.",
            reason: reason, retryAfter: 5)
    }

    /// - Parameter member: the member's path in the body.
    static func invalid(_ member: String, _ what: String) -> DirectCognitoRefusal {
        DirectCognitoRefusal(
            type: "InvalidParameterException", message: "\(member) \(what)", reason: .cognito(.invalidParameter))
    }

    /// Returns the refusal of a rate limit, with Cognito's status for throttling, 400.
    package static func tooManyRequests(after seconds: Int, reason: Reason) -> DirectCognitoRefusal {
        DirectCognitoRefusal(
            type: "TooManyRequestsException", message: "Too many requests. Try again later.", reason: reason,
            retryAfter: max(1, seconds))
    }

    init(status: Int = 400, type: String, message: String, reason: Reason, retryAfter: Int? = nil) {
        self.status = status
        self.type = type
        self.message = message
        self.reason = reason
        self.retryAfter = retryAfter
    }

    package var body: [UInt8] {
        JSON.object(["__type": .string(type), "message": .string(message)]).encoded()
    }
}
