package import Encoding
package import HTTPTypes

/// An error response of the gateway itself: the one form of every refusal.
package struct Refusal: Error, Sendable {
    package var error: GatewayError
    /// The message for the client.
    package var message: String
    /// Further fields of the response, in addition to those of every refusal: `WWW-Authenticate`, `Allow`,
    /// `Retry-After`.
    package var headers: HTTPFields
    /// For 422: each invalid field of the request body and its error.
    package var fields: [ExactText: String]
    /// For the log, the metrics, and decisions about the refused request; never sent.
    package var reason: Reason
    /// Whether the response also has `"success": false`, as clients of the session endpoints expect.
    package var deniesSuccess = false

    /// - Parameter message: nil for the error's own message.
    package init(
        _ error: GatewayError,
        message: String? = nil,
        headers: HTTPFields = [:],
        fields: [ExactText: String] = [:],
        reason: Reason
    ) {
        self.error = error
        self.message = message ?? error.defaultMessage
        self.headers = headers
        self.fields = fields
        self.reason = reason
    }

    /// The complete head of the response, without framing: the writer adds `Content-Length`.
    ///
    /// A 401 always has a challenge (RFC 9110 §15.5.2), and 429 and 503 always have `Retry-After`.
    package var response: HTTPResponse {
        var fields = headers
        fields[.contentType] = "application/json"
        fields[.cacheControl] = "no-store"
        switch error.status.code {
        case 401 where !fields.contains(.wwwAuthenticate): fields[.wwwAuthenticate] = Self.invalidToken
        case 429 where !fields.contains(.retryAfter): fields[.retryAfter] = "5"
        case 503 where !fields.contains(.retryAfter): fields[.retryAfter] = "5"
        default: break
        }
        return HTTPResponse(status: error.status, headerFields: fields)
    }

    /// The response's JSON: `error`, `message`, `statusCode`, `requestId` and, unless empty, `fields` by name.
    package func body(requestID: String) -> [UInt8] {
        var body: JSONObject = [
            "error": .string(error.rawValue),
            "message": .string(message),
            "statusCode": .number(JSONNumber(error.statusCode)),
            "requestId": .string(requestID),
        ]
        if deniesSuccess { body["success"] = false }
        if !fields.isEmpty {
            let sorted = fields.sorted { $0.key < $1.key }
            body["fields"] = .object(JSONObject(sorted.map { ($0.key.text, .string($0.value)) }))
        }
        return body.encoded()
    }
}
