internal import Encoding
internal import HTTPTypes
internal import Pipeline

extension AccountAnswer {
    /// A success, or a question. Answers can hold tokens: nothing between the gateway and the client may keep them.
    init(
        _ status: HTTPResponse.Status, _ body: JSONObject, subject: String? = nil,
        outcome: AccountOutcome = .succeeded
    ) {
        self.init(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: body.encoded(), reason: nil, subject: subject, outcome: outcome)
    }

    /// 204: done, and nothing to say.
    static func done(subject: String? = nil) -> AccountAnswer {
        AccountAnswer(
            status: .noContent, headers: [.cacheControl: "no-store"], body: [], reason: nil, subject: subject,
            outcome: .succeeded)
    }

    init(refusal: Refusal, requestID: String) {
        let head = refusal.response
        self.init(
            status: head.status, headers: head.headerFields, body: refusal.body(requestID: requestID),
            reason: refusal.reason, subject: nil, outcome: .refused(refusal.error, reason: refusal.reason))
    }
}
