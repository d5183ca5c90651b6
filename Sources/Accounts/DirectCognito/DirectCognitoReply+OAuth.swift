internal import Cognito
internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension DirectCognitoReply {
    init(_ answer: AccountAnswer, wasAsked: Bool) {
        self.init(
            status: answer.status, headers: answer.headers, body: answer.body, reason: answer.reason,
            wasAsked: wasAsked, subject: answer.subject)
    }

    /// The reply to an operation in the form of the hosted domain's endpoint.
    init(oauth reply: DirectCognitoReply, of request: DirectHostedRequest, at pool: DirectCognitoPool) {
        self = reply
        headers = [.contentType: "application/json", .cacheControl: "no-store"]
        headers[.retryAfter] = reply.headers[.retryAfter]
        let object = (try? JSON.parse(reply.body))?.objectValue ?? [:]
        guard reply.status != .ok else {
            guard request.path == .token, let result = object["AuthenticationResult"]?.objectValue else {
                body = []
                return
            }
            var tokens: JSONObject = [:]
            for (name, member) in Self.members { tokens[name] = result[member] }
            body = tokens.encoded()
            return
        }
        let error = Self.error(for: ExactText(object["__type"]?.stringValue ?? ""), of: request.path)
        if error.hasSameBytes(as: "temporarily_unavailable"), reply.status == .badRequest { status = .tooManyRequests }
        body = JSON.object(["error": .string(error)]).encoded()
    }

    private static let members = [
        ("access_token", "AccessToken"), ("id_token", "IdToken"), ("refresh_token", "RefreshToken"),
        ("expires_in", "ExpiresIn"), ("token_type", "TokenType"),
    ]

    private static func error(for type: ExactText, of path: HostedPath) -> String {
        switch type {
        case "TooManyRequestsException", "InternalErrorException": "temporarily_unavailable"
        case "UnsupportedTokenTypeException": "unsupported_token_type"
        case "ForbiddenException": "unauthorized_client"
        case "NotAuthorizedException", "RefreshTokenReuseException", "UserNotFoundException":
            path == .token ? "invalid_grant" : "invalid_request"
        default: "invalid_request"
        }
    }
}
