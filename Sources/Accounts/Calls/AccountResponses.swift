package import Encoding
package import HTTPTypes
package import Pipeline

extension AccountAnswer {
    /// No answer of the gateway's: the request goes on to the backend.
    package init(forwarding: SignInForwarding) {
        self.init(status: .ok, headers: [:], body: [], reason: nil, subject: nil, outcome: .succeeded)
        self.forwarding = forwarding
    }

    /// A success, or a question. Answers can hold tokens: nothing between the gateway and the client may keep them.
    package init(
        _ status: HTTPResponse.Status, _ body: JSONObject, subject: String? = nil,
        outcome: AccountOutcome = .succeeded
    ) {
        self.init(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: body.encoded(), reason: nil, subject: subject, outcome: outcome)
    }

    /// 204: done, and nothing to say.
    package static func done(subject: String? = nil) -> AccountAnswer {
        AccountAnswer(
            status: .noContent, headers: [.cacheControl: "no-store"], body: [], reason: nil, subject: subject,
            outcome: .succeeded)
    }

    package init(refusal: Refusal, requestID: String) {
        let head = refusal.response
        self.init(
            status: head.status, headers: head.headerFields, body: refusal.body(requestID: requestID),
            reason: refusal.reason, subject: nil, outcome: .refused(refusal.error, reason: refusal.reason))
    }
}
