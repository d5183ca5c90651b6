package import HTTPTypes

/// A request the gateway answers itself with an error: the one form of every refusal.
package struct Refusal: Error, Sendable {
    package var error: GatewayError
    /// What the client may read.
    package var message: String
    /// What goes into the answer beside the fields every refusal has: `WWW-Authenticate`, `Allow`, `Retry-After`.
    package var headers: HTTPFields
    /// With 422: each faulty field of the request body and what is wrong with it.
    package var fields: [String: String]
    /// Why, for the log only; never sent.
    package var reason: String

    /// - Parameter message: nil for the error's own message.
    package init(
        _ error: GatewayError,
        message: String? = nil,
        headers: HTTPFields = [:],
        fields: [String: String] = [:],
        reason: String
    ) {
        self.error = error
        self.message = message ?? error.defaultMessage
        self.headers = headers
        self.fields = fields
        self.reason = reason
    }

    /// The complete head of the answer, without framing: `Content-Length` is the writer's.
    ///
    /// A 401 always has a challenge (RFC 9110 §15.5.2), and 429 and 503 always say when to come back.
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

    /// The answer's JSON: `error`, `message`, `statusCode`, `requestId` and, where there are any, `fields` by name.
    package func body(requestID: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(160 + message.utf8.count)
        bytes.append(UInt8(ascii: "{"))
        JSONText.appendName("error", to: &bytes)
        JSONText.append(error.rawValue, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        JSONText.appendName("message", to: &bytes)
        JSONText.append(message, to: &bytes)
        bytes.append(UInt8(ascii: ","))
        JSONText.appendName("statusCode", to: &bytes)
        bytes.append(contentsOf: String(error.status.code).utf8)
        bytes.append(UInt8(ascii: ","))
        JSONText.appendName("requestId", to: &bytes)
        JSONText.append(requestID, to: &bytes)
        if !fields.isEmpty { appendFields(to: &bytes) }
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private func appendFields(to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: ","))
        JSONText.appendName("fields", to: &bytes)
        var separator = UInt8(ascii: "{")
        for (name, fault) in fields.sorted(by: { $0.key < $1.key }) {
            bytes.append(separator)
            JSONText.appendName(name, to: &bytes)
            JSONText.append(fault, to: &bytes)
            separator = UInt8(ascii: ",")
        }
        bytes.append(UInt8(ascii: "}"))
    }
}
