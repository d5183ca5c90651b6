package import Encoding
package import Pipeline
internal import Synchronization

/// An account call as limits and audit see it: what is known of it before Cognito is asked. It holds no secret.
package struct AccountCall: Sendable {
    /// No other call of the process has it.
    package let serial: UInt64
    package var operation: AccountOperation
    /// The operation of Cognito's that the app called for itself, where it did; ``operation`` is what comes nearest.
    package var directOperation: String?
    /// The call of the sessions' that it is, where it is one; ``operation`` is what comes nearest.
    package var sessionOperation: SessionOperation?
    /// The user pool's id; the `iss` of the gateway's sessions.
    package var poolID: String
    /// Whom the client says the account belongs to, as it was typed: an e-mail address, as a rule. Nothing is proven by
    /// it. At `challenge` it is what the sign-in began with.
    package var account: String?
    /// The user's `sub`: at `refresh` and with a bearer token before, at a sign-in only after it.
    package var subject: String?
    /// The session that it is of, where a token of one was shown that is, or was, good.
    package var session: CalledSession?
    /// A digest of the token of a direct call. Its owner is known only when Cognito has accepted it.
    package var tokenDigest: String?
    /// The app's description of its device; for `refresh`, the device that the session was bound to.
    package var device: DeviceInfo?
    /// Apple's guess whether there is a person behind a new account, where it makes one.
    package var realUserStatus: String?
    /// The pool's own key for the device whose token the client has shown; nil without one that this gateway gave to this
    /// account.
    package var provenDevice: String?
    /// Digests of a direct sign-in step whose owner the gateway does not know: only the client says that it is
    /// ``account``'s. Nil for all other calls.
    package var unknownStep: [String]?
    /// As the gateway trusts it: an IPv4 or IPv6 literal.
    package var clientAddress: String
    package var userAgent: String?
    package var requestID: String

    /// The call's name in logs.
    package var name: String { directOperation ?? sessionOperation?.rawValue ?? operation.rawValue }

    private static let lastSerial = Atomic<UInt64>(0)

    init(_ request: AccountRequest, poolID: String) {
        serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
        operation = request.operation
        self.poolID = poolID
        subject = request.identity?.subject
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }

    /// A call of the gateway's own sessions.
    package init(_ request: SessionRequest, issuer: String) {
        serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
        operation = request.operation.nearest
        sessionOperation = request.operation
        poolID = issuer
        subject = request.identity?.subject
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }

    /// A direct call that cannot be carried out as it is.
    init(malformed operation: String, _ request: DirectCognitoRequest, poolID: String) {
        serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
        self.operation = ClientOperation.accountOperation(of: operation)
        directOperation = request.call.operation
        self.poolID = poolID
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }

    /// A direct call that is carried out.
    init(_ call: TranslatedCall, _ request: DirectCognitoRequest, poolID: String) {
        serial = Self.lastSerial.add(1, ordering: .relaxed).newValue
        operation = ClientOperation.accountOperation(of: call.operation)
        directOperation = request.call.operation
        self.poolID = poolID
        account = call.account
        tokenDigest = call.tokenDigest
        device = call.deviceKey.map { DeviceInfo(directDevice: $0) }
        clientAddress = request.clientAddress
        userAgent = request.userAgent
        requestID = request.requestID
    }
}

/// The outcome of an account call.
package enum AccountOutcome: Sendable {
    /// Done, without a sign-in.
    case succeeded
    /// The user has new tokens: by `login`, or by `challenge`.
    case signedIn(AccountUser)
    /// Cognito wants an answer first: the challenge's name.
    case challenged(String)
    /// The answer's error, and the reason, which says more than the client hears.
    case refused(GatewayError, reason: Reason)
}

/// An observer of account calls: limits, audit, notification of backends. Each call passes all observers, in their
/// order: once before Cognito is asked, and once when the response is known.
///
/// `confirm` with a password is two calls: `confirm`, and the `login` after it.
package protocol AccountObserver: Sendable {
    /// Called before Cognito is asked, with what the request itself says: also for a token that is none or counts no
    /// more, and for a request that is malformed, of which nothing but the operation and its sender is known.
    ///
    /// - Throws: what the client is told instead of being served; ``ended(_:_:)`` then sees it as refused.
    func admit(_ call: AccountCall) async throws(Refusal)

    /// Called between the two, before a password, a proof of one or a second factor is tried, when it is known which account
    /// the call is of, whatever it was named by.
    ///
    /// - Parameter username: Cognito's own name for the user; nil where only earlier calls can say.
    /// - Returns: for how many seconds the account is closed; nil where it is not.
    func identified(_ call: AccountCall, as username: String?) async -> Int?

    /// Called when the answer is known and not sent yet, with all that is known of the call by then.
    ///
    /// - Throws: what the client is told instead of a success, for one that must not count until others know of it.
    ///   Ignored for a call that was refused.
    func ended(_ call: AccountCall, _ outcome: AccountOutcome) async throws(Refusal)

    /// The observer's data about a user, for `GET me/export`: members to add to the response.
    func held(about subject: String, poolID: String) async throws(Refusal) -> JSONObject
}

extension AccountObserver {
    package func held(about subject: String, poolID: String) async throws(Refusal) -> JSONObject { [:] }

    package func identified(_ call: AccountCall, as username: String?) async -> Int? { nil }
}

extension [any AccountObserver] {
    /// Tells all of them of a success, in their order, and then takes its last step.
    ///
    /// - Throws: the refusal of one who lets it not count, when the session that has begun by it is ended again; or that of
    ///   the last step.
    package func tell(_ call: AccountCall, of answer: AccountAnswer) async throws(Refusal) {
        do {
            for observer in self { try await observer.ended(call, answer.outcome) }
        } catch {
            if let takeBack = answer.takeBack { await takeBack() }
            throw error
        }
        try await answer.lastStep?()
    }
}

extension DeviceInfo {
    /// The description of the device of a direct call: only the key under which the pool tracks it is known.
    init(directDevice key: String) {
        self.init(deviceID: key.cut(toBytes: 256), platform: "cognito")
    }
}
