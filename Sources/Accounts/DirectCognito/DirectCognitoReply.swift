internal import Cognito
package import HTTPTypes
package import Pipeline

/// An app's call for Cognito, with its complete body.
package struct DirectCognitoRequest: Sendable {
    package var call: DirectCognitoCall
    package var body: [UInt8]
    package var requestID: String
    /// The client's address that the gateway trusts.
    package var clientAddress: String
    package var userAgent: String?

    package init(
        call: DirectCognitoCall, body: [UInt8], requestID: String, clientAddress: String, userAgent: String? = nil
    ) {
        self.call = call
        self.body = body
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.userAgent = userAgent
    }
}

/// The complete response to a ``DirectCognitoRequest``. The body can contain tokens: it must never be logged.
package struct DirectCognitoReply: Sendable {
    package var status: HTTPResponse.Status
    package var headers: HTTPFields
    package var body: [UInt8]
    /// The reason of a refusal, for the access log; nil for a success.
    package var reason: Reason?
    /// Whether it is Cognito's own response.
    package var wasAsked: Bool
    /// The account that the call names, and its user if known: for the audit log.
    package var account: String?
    package var subject: String?
}

extension DirectCognitoReply {
    init(_ answer: CognitoAnswer, requestID: String) {
        self.init(
            status: HTTPResponse.Status(code: answer.status),
            headers: Self.headers(answer.headers, requestID: requestID),
            body: answer.body, reason: (answer.error?.kind).map { .cognito($0) }, wasAsked: true)
    }

    init(_ refusal: DirectCognitoRefusal, requestID: String) {
        var headers = Self.headers(
            [("x-amzn-errortype", "\(refusal.type):"), ("x-amzn-errormessage", refusal.message)], requestID: requestID)
        if let seconds = refusal.retryAfter { headers[.retryAfter] = String(seconds) }
        self.init(
            status: HTTPResponse.Status(code: refusal.status), headers: headers, body: refusal.body,
            reason: refusal.reason, wasAsked: false)
    }

    /// Responses can contain tokens: no intermediary may store them.
    private static func headers(_ special: [(name: String, value: String)], requestID: String) -> HTTPFields {
        var fields: HTTPFields = [.contentType: "application/x-amz-json-1.1", .cacheControl: "no-store"]
        if let name = HTTPField.Name("x-amzn-requestid") { fields[name] = requestID }
        for (name, value) in special {
            if let name = HTTPField.Name(name) { fields[name] = value }
        }
        return fields
    }
}

extension DirectCognitoReply: CustomStringConvertible, CustomReflectable {
    package var description: String { "DirectCognitoReply(\(status.code), \(reason?.code ?? "ok"))" }
    package var customMirror: Mirror {
        Mirror(self, children: ["status": status.code, "reason": reason?.code ?? "ok"])
    }
}

extension DirectCognitoRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "DirectCognitoRequest(\(call.operation ?? "other"), \(requestID))" }
    package var customMirror: Mirror { Mirror(self, children: ["operation": call.operation ?? "other"]) }
}
