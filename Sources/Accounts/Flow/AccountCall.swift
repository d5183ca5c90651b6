internal import Encoding
package import Pipeline

/// An account call as limits and audit see it: the facts known before Cognito is called. It contains no secret.
package struct AccountCall: Sendable {
    /// The API through which a call came.
    package enum Origin: Sendable {
        /// An endpoint of the gateway's own.
        case endpoint(AccountOperation)
        /// An app's call of this Cognito operation.
        case direct(String?)
    }

    package let origin: Origin
    /// The operation whose limits and effects apply: the endpoint's, or the closest one.
    package var operation: AccountOperation
    /// The user's authentication method, for a sign-in; nil for all other calls.
    package var method: SignInMethod?
    /// The user pool's id; the `iss` of the gateway's sessions.
    package var poolID: String
    /// The account that the client names, as typed: usually an e-mail address. It proves nothing. At `challenge`, it is
    /// the name that the sign-in began with.
    package var account: String?
    /// The user's `sub`. It is known before the call at `refresh` and with a bearer token, and only afterwards at a
    /// sign-in.
    package var subject: String?
    /// The current password that a call must prove besides a token; nil for all others.
    var guess: PasswordGuess?
    /// The session of the call's token; nil unless that token is, or was, valid.
    package var session: CalledSession?
    /// A digest of a provider refresh token. Its owner is known only once Cognito has accepted it.
    package var tokenDigest: String?
    /// The app's description of its device; for `refresh`, the device that the session was bound to.
    package var device: DeviceInfo?
    /// Apple's estimate whether a new account belongs to a person; nil if Apple makes none.
    package var realUserStatus: String?
    /// The pool's key of the device whose token the client has sent; nil without a token that this gateway has issued
    /// for this account.
    var provenDevice: String?
    /// Digests of a direct sign-in step of an unknown account: only the client claims that it is ``account``'s. nil for
    /// all other calls.
    var unknownStep: [String]?
    /// Whether this is an additional message of a call that is itself counted: it counts only for its own account.
    var isFurtherMessage = false
    /// Whether the response to a challenge was wrong although the outcome does not show it: a custom challenge is then
    /// issued again, or its trigger fails.
    var wasAnsweredWrong = false
    /// The address that the gateway trusts: an IPv4 or IPv6 literal.
    package var clientAddress: String
    package var userAgent: String?
    package var requestID: String

    /// The call's name in logs.
    package var name: String {
        switch origin {
        case .endpoint(let operation): operation.name
        case .direct(let operation): operation ?? self.operation.name
        }
    }

    /// - Parameter poolID: as ``poolID``.
    package init(_ request: AccountRequest, poolID: String) {
        operation = request.operation
        origin = .endpoint(request.operation)
        self.poolID = poolID
        subject = request.identity?.subject
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }

    /// Creates a direct call before it is parsed.
    ///
    /// - Parameter operation: the closest one.
    init(_ request: DirectCognitoRequest, as operation: AccountOperation, poolID: String) {
        self.operation = operation
        origin = .direct(request.call.operation)
        method = operation.budget == .signIn ? .translated : nil
        self.poolID = poolID
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }
}
