internal import Encoding
package import Pipeline

/// An account call as limits and audit see it: what is known of it before Cognito is asked. It holds no secret.
package struct AccountCall: Sendable {
    /// The way by which a call came.
    package enum Origin: Sendable {
        /// To an endpoint of the gateway's own.
        case endpoint(AccountOperation)
        /// As an app's call of this operation of Cognito's.
        case direct(String?)
    }

    package let origin: Origin
    /// The operation whose limits and effects it has: the endpoint's, or the one that comes nearest to what it does.
    package var operation: AccountOperation
    /// How the user proves who they are, at a sign-in; nil for all other calls.
    package var method: SignInMethod?
    /// The user pool's id; the `iss` of the gateway's sessions.
    package var poolID: String
    /// Whom the client says the account belongs to, as it was typed: an e-mail address, as a rule. Nothing is proven by
    /// it. At `challenge` it is what the sign-in began with.
    package var account: String?
    /// The user's `sub`: at `refresh` and with a bearer token before, at a sign-in only after it.
    package var subject: String?
    /// The current password that a call has to prove besides a token; nil for all others.
    var guess: PasswordGuess?
    /// The session that it is of, where a token of one was shown that is, or was, good.
    package var session: CalledSession?
    /// A digest of a refresh token of Cognito's own. Its owner is known only when Cognito has accepted it.
    package var tokenDigest: String?
    /// The app's description of its device; for `refresh`, the device that the session was bound to.
    package var device: DeviceInfo?
    /// Apple's guess whether there is a person behind a new account, where it makes one.
    package var realUserStatus: String?
    /// The pool's own key for the device whose token the client has shown; nil without one that this gateway gave to
    /// this account.
    var provenDevice: String?
    /// Digests of a direct sign-in step whose owner the gateway does not know: only the client says that it is
    /// ``account``'s. Nil for all other calls.
    var unknownStep: [String]?
    /// Whether it is a message of a call that counts as well: it counts for its account alone.
    var isFurtherMessage = false
    /// Whether the answer to a challenge was wrong, though the outcome does not say so: a pool's own challenge is asked
    /// again then, or its trigger fails.
    var wasAnsweredWrong = false
    /// As the gateway trusts it: an IPv4 or IPv6 literal.
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

    /// A direct call before it is read.
    ///
    /// - Parameter operation: the one that comes nearest.
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
