internal import Cryptography
internal import HTTPTypes
internal import Pipeline

extension AccountAnswer {
    /// A success, or a question.
    init(_ status: HTTPResponse.Status, _ body: JSONObject, subject: String? = nil) {
        self.init(
            status: status, headers: Self.commonHeaders, body: JSON.object(body).encoded(), reason: nil,
            subject: subject)
    }

    init(refusal: Refusal, requestID: String) {
        var headers = Self.commonHeaders
        headers.append(contentsOf: refusal.headers)
        self.init(
            status: refusal.error.status, headers: headers, body: refusal.body(requestID: requestID),
            reason: refusal.reason, subject: nil)
    }

    /// Answers can hold tokens, and even a refusal is one user's: nothing between may keep them.
    private static var commonHeaders: HTTPFields {
        [.contentType: "application/json", .cacheControl: "no-store"]
    }
}

extension Refusal {
    /// A refusal with the headers that its status asks for.
    ///
    /// - Parameter reason: for the log only.
    static func account(
        _ error: GatewayError, message: String? = nil, fields: [String: String] = [:], reason: String,
        retryAfter: Int? = nil
    ) -> Refusal {
        var headers = HTTPFields()
        // RFC 6750, section 3: a 401 names the scheme and what is wrong.
        if error.status == .unauthorized { headers[.wwwAuthenticate] = #"Bearer error="invalid_token""# }
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        return Refusal(
            error: error, message: message ?? error.defaultMessage, headers: headers, fields: fields, reason: reason)
    }
}
