package import Cryptography
package import Pipeline

/// A request to an account endpoint, with its complete body.
package struct AccountRequest: Sendable {
    package var operation: AccountOperation
    /// The decoded path segment that the `*` of the operation's path matches; nil for a path without one.
    package var segment: String?
    package var body: [UInt8]
    package var contentType: String?
    /// The access token that the pipeline has verified; its claims are in `identity`.
    package var bearer: Secret?
    package var identity: VerifiedToken?
    /// The request's access token if it was valid once; nil otherwise.
    package var endedToken: EndedToken?
    package var requestID: String
    /// The client's address that the gateway trusts: an IPv4 or IPv6 literal.
    package var clientAddress: String
    package var userAgent: String?
    /// The target's query as received, without the question mark.
    package var query = ""
    package var cookies: CookiePairs?

    package init(
        operation: AccountOperation, segment: String? = nil, body: [UInt8] = [], contentType: String? = nil,
        bearer: Secret? = nil,
        identity: VerifiedToken? = nil, endedToken: EndedToken? = nil, requestID: String, clientAddress: String,
        userAgent: String? = nil
    ) {
        self.operation = operation
        self.segment = segment
        self.body = body
        self.contentType = contentType
        self.bearer = bearer
        self.identity = identity
        self.endedToken = endedToken
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.userAgent = userAgent
    }
}

// A body contains passwords and tokens, so the description omits it.

extension AccountRequest: CustomStringConvertible, CustomReflectable {
    package var description: String { "AccountRequest(\(operation.name), \(requestID))" }
    package var customMirror: Mirror { Mirror(self, children: ["operation": operation.name, "requestID": requestID]) }
}
