package import Encoding
package import HTTPTypes
package import Pipeline

/// The whole answer of an account endpoint. The body can hold tokens: it is never to be logged.
package struct AccountAnswer: Sendable {
    package var status: HTTPResponse.Status
    /// All headers but `Content-Length` and `X-Request-Id`, which are the listener's.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// Why the request was denied, for the access log; `nil` for a success.
    package var reason: Reason?
    /// The user's `sub` where it is known, for the access log's hash of it.
    package var subject: String?
    package var outcome: AccountOutcome
    /// Set where this is no answer, and the request goes on to a backend.
    package var forwarding: SignInForwarding?
    /// Makes the body of an answer that shows a user; nil for all others.
    var bodyShowing: (@Sendable (_ user: JSONObject) -> JSONObject)?
    /// As ``AccountReply/finish()``; nil where there is nothing left to do.
    package var lastStep: (@Sendable () async throws(Refusal) -> Void)?
    /// As ``AccountReply/takeBack()``; nil where no session has begun.
    package var sessionEnd: (@Sendable () async -> Void)?
    /// A call whose answer takes the place of this one, made once this one has ended.
    var next: (@Sendable () async throws(Refusal) -> AccountAnswer)?
}

extension AccountAnswer: AccountReply {
    package mutating func show(_ user: JSONObject) {
        if let bodyShowing { body = bodyShowing(user).encoded() }
    }

    package func takeBack() async { await sessionEnd?() }
    package func finish() async throws(Refusal) { try await lastStep?() }
}

/// As whose a sign-in goes on to the backend that keeps the users.
package enum SignInForwarding: Sendable {
    case verified(VerifiedToken)
    /// As nobody's.
    case unverified
}

extension AccountAnswer {
    /// No answer of the gateway's own: the request goes on to the backend.
    package init(forwarding: SignInForwarding) {
        self.init(status: .ok, headers: [:], body: [], reason: nil, subject: nil, outcome: .succeeded)
        self.forwarding = forwarding
        guard case .verified(let token) = forwarding else { return }
        (subject, outcome) = (token.subject, .forwarded)
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

    /// A success whose body shows a user.
    ///
    /// - Parameter body: the whole body with a user.
    package static func showing(
        _ user: JSONObject, subject: String, outcome: AccountOutcome,
        in body: @escaping @Sendable (_ user: JSONObject) -> JSONObject = { $0 }
    ) -> AccountAnswer {
        var answer = AccountAnswer(.ok, body(user), subject: subject, outcome: outcome)
        answer.bodyShowing = body
        return answer
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

// A body can hold tokens, so the type does not print its own.
extension AccountAnswer: CustomStringConvertible, CustomReflectable {
    package var description: String { "AccountAnswer(\(status.code), \(reason?.code ?? "ok"))" }
    package var customMirror: Mirror {
        Mirror(self, children: ["status": status.code, "reason": reason?.code ?? "ok"])
    }
}
