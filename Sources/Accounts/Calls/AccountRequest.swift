package import Cryptography
package import HTTPTypes
package import Pipeline

/// A request to an account endpoint.
package typealias AccountRequest = EndpointRequest<AccountOperation>

/// A request to one of the gateway's own endpoints, its body read in full.
package struct EndpointRequest<Operation: RawRepresentable<String> & Sendable>: Sendable {
    package var operation: Operation
    package var body: [UInt8]
    package var contentType: String?
    /// The access token that the pipeline has verified; what it says is in `identity`.
    package var bearer: Secret?
    package var identity: VerifiedToken?
    /// Whether an access token was sent that was valid once: it has expired, or was revoked.
    package var bearerHasEnded: Bool
    package var requestID: String
    /// The address of the client as the gateway trusts it: an IPv4 or IPv6 literal.
    package var clientAddress: String
    package var userAgent: String?

    package init(
        operation: Operation, body: [UInt8] = [], contentType: String? = nil, bearer: Secret? = nil,
        identity: VerifiedToken? = nil, bearerHasEnded: Bool = false, requestID: String, clientAddress: String,
        userAgent: String? = nil
    ) {
        self.operation = operation
        self.body = body
        self.contentType = contentType
        self.bearer = bearer
        self.identity = identity
        self.bearerHasEnded = bearerHasEnded
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.userAgent = userAgent
    }
}

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
    /// The same for those who watch over account calls.
    package var outcome: AccountOutcome
    /// Set where this is no answer, and the request goes on to a backend.
    package var forwarding: SignInForwarding?
    /// Done when all observers have been told: ends the token that the caller can try again with until then.
    package var lastStep: (@Sendable () async throws(Refusal) -> Void)?
    /// Ends the session that a sign-in has begun; nil for other calls. Called where an observer lets it not count, so that
    /// nobody ever has a token of that session.
    package var takeBack: (@Sendable () async -> Void)?
}

/// As whose a sign-in goes on to the backend that keeps the users.
package enum SignInForwarding: Sendable {
    case verified(VerifiedToken)
    /// As nobody's.
    case unverified
}

// Bodies hold passwords and tokens, so neither type prints its own.

extension EndpointRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "EndpointRequest(\(operation.rawValue), \(requestID))" }
    package var customMirror: Mirror { Mirror(self, children: ["operation": operation, "requestID": requestID]) }
}

extension AccountAnswer: CustomStringConvertible, CustomReflectable {
    package var description: String { "AccountAnswer(\(status.code), \(reason?.code ?? "ok"))" }
    package var customMirror: Mirror {
        Mirror(self, children: ["status": status.code, "reason": reason?.code ?? "ok"])
    }
}
