internal import HTTPTypes
internal import Pipeline

extension AccountAnswer {
    /// A success, or a question. Answers can hold tokens: nothing between the gateway and the client may keep them.
    init(_ status: HTTPResponse.Status, _ body: JSONObject, subject: String? = nil) {
        self.init(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: body.encoded(), reason: nil, subject: subject)
    }

    init(refusal: Refusal, requestID: String) {
        let head = refusal.response
        self.init(
            status: head.status, headers: head.headerFields, body: refusal.body(requestID: requestID),
            reason: refusal.reason, subject: nil)
    }
}
