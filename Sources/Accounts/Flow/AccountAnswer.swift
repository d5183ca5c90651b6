package import Encoding
package import HTTPTypes
package import Pipeline

/// The complete response of an account endpoint. The body can contain tokens: it must never be logged.
package struct AccountAnswer: Sendable {
    package var status: HTTPResponse.Status
    /// All headers except `Content-Length` and `X-Request-Id`, which the listener sets.
    package var headers: HTTPFields
    package var body: [UInt8]
    /// The reason of a denial, for the access log; nil for a success.
    package var reason: Reason?
    /// The user's `sub`, for the access log's hash of it; nil if it is unknown.
    package var subject: String?
    package var outcome: AccountOutcome
    /// Set if the request is forwarded to a backend, and this is not a response; nil otherwise.
    package var forwarding: SignInForwarding?
    /// Creates the body of a response that shows a user; nil for all others.
    var bodyShowing: (@Sendable (_ user: JSONObject) -> JSONObject)?
    /// As ``AccountReply/finish()``; nil if there is no last step.
    package var lastStep: (@Sendable () async throws(Refusal) -> Void)?
    /// As ``AccountReply/takeBack()``; nil if no session has begun.
    package var sessionEnd: (@Sendable () async -> Void)?
    /// A call whose response replaces this one, made once this call has ended; nil if there is none.
    var next: (@Sendable () async throws(Refusal) -> AccountAnswer)?
}

extension AccountAnswer: AccountReply {
    package mutating func show(_ user: JSONObject) {
        if let bodyShowing { body = bodyShowing(user).encoded() }
    }

    package func takeBack() async { await sessionEnd?() }
    package func finish() async throws(Refusal) { try await lastStep?() }
}

/// The identity with which a sign-in is forwarded to the backend that stores the users.
package enum SignInForwarding: Sendable {
    case verified(VerifiedToken)
    /// No identity.
    case unverified
}

extension AccountAnswer {
    /// Creates the result of a request that is forwarded to the backend, which has no response of the gateway's own.
    package init(forwarding: SignInForwarding) {
        self.init(status: .ok, headers: [:], body: [], reason: nil, subject: nil, outcome: .succeeded)
        self.forwarding = forwarding
        guard case .verified(let token) = forwarding else { return }
        (subject, outcome) = (token.subject, .forwarded)
    }

    /// Creates a success or a challenge. Responses can contain tokens: no intermediary may store them.
    package init(
        _ status: HTTPResponse.Status, _ body: JSONObject, subject: String? = nil,
        outcome: AccountOutcome = .succeeded
    ) {
        self.init(
            status: status, headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: body.encoded(), reason: nil, subject: subject, outcome: outcome)
    }

    /// Creates a success whose body shows a user.
    ///
    /// - Parameter body: returns the whole body for a user.
    package static func showing(
        _ user: JSONObject, subject: String, outcome: AccountOutcome,
        in body: @escaping @Sendable (_ user: JSONObject) -> JSONObject = { $0 }
    ) -> AccountAnswer {
        var answer = AccountAnswer(.ok, body(user), subject: subject, outcome: outcome)
        answer.bodyShowing = body
        return answer
    }

    /// Returns a success without content, 204.
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

// A body can contain tokens, so the description omits it.
extension AccountAnswer: CustomStringConvertible, CustomReflectable {
    package var description: String { "AccountAnswer(\(status.code), \(reason?.code ?? "ok"))" }
    package var customMirror: Mirror {
        Mirror(self, children: ["status": status.code, "reason": reason?.code ?? "ok"])
    }
}
