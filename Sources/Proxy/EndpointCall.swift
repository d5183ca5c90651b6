internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sessions

/// A request to one of the gateway's own endpoints while its body is collected.
final class EndpointCall {
    /// The service that handles the call.
    enum Target {
        case account(AccountOperation, CognitoAccounts)
        case session(AccountOperation, SessionEndpoints)
    }

    var body: [UInt8] = []
    private let target: Target
    private let token: VerifiedToken?
    private let ended: EndedToken?
    private let head: HTTPRequest
    private let requestID: String
    private let peer: String

    init(_ target: Target, _ token: EndpointToken?, _ head: HTTPRequest, requestID: String, peer: String) {
        self.target = target
        self.token = token?.valid
        ended = token?.ended
        self.head = head
        self.requestID = requestID
        self.peer = peer
    }

    /// The endpoint's name.
    var name: String {
        switch target {
        case .account(let operation, _), .session(let operation, _): operation.name
        }
    }

    /// Whether the call needs so little CPU time that it may run on an event loop. Sign-in on Cognito's hosted pages
    /// needs only a few hash and seal operations. Other calls may carry passwords, whose proof takes milliseconds.
    var computesLittle: Bool {
        guard case .account(let operation, _) = target else { return false }
        return operation.isHosted
    }

    /// The response, if the verified token is enough to produce it; otherwise nil.
    var immediateAnswer: AccountAnswer? {
        guard case .session(let operation, let sessions) = target, let token else { return nil }
        return sessions.immediateAnswer(to: operation, by: token)
    }

    /// Returns a closure that performs the call. It can be called on any thread.
    func question() -> @Sendable () async -> AccountAnswer {
        switch target {
        case .account(let operation, let accounts):
            let request = request(operation, bearer: token == nil ? nil : sentBearer)
            return { await accounts.answer(request) }
        case .session(let operation, let sessions):
            let mayBeUnverified = operation.bearer == .judged
            let request = request(operation, bearer: token != nil || mayBeUnverified ? sentBearer : nil)
            return { await sessions.answer(request) }
        }
    }

    /// - Parameter bearer: the token that was sent, if it was verified or if the endpoint verifies it itself; otherwise
    ///   nil.
    private func request(_ operation: AccountOperation, bearer: Secret?) -> AccountRequest {
        var request = AccountRequest(
            operation: operation, segment: segment(of: operation), body: body,
            contentType: head.headerFields[.contentType], bearer: bearer,
            identity: token, endedToken: ended, requestID: requestID, clientAddress: peer,
            userAgent: head.headerFields[.userAgent])
        guard operation.isHosted else { return request }
        request.query = String(Substring((head.path ?? "").utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        request.cookies = CookiePairs(of: head)
        return request
    }

    /// The last segment of the normalized path; nil if the operation's path does not end in `/*`.
    private func segment(of operation: AccountOperation) -> String? {
        guard operation.path.ends(with: "/*"), let path = try? RequestPath.parse(head.path ?? "").path,
            let last = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        else { return nil }
        return String(Substring(path.utf8[last...].dropFirst()))
    }

    private var sentBearer: Secret? {
        guard case .value(let value, let prefix) = BearerToken(of: head) else { return nil }
        return Secret(Array(value.utf8.dropFirst(prefix)))
    }
}
