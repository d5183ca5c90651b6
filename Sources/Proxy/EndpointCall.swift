internal import Accounts
internal import Cryptography
internal import Encoding
internal import HTTPTypes
internal import Pipeline
internal import Sessions

/// A request to one of the gateway's own endpoints while its body is collected.
final class EndpointCall {
    /// The service that answers it.
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

    /// Whether nothing in it takes the time of an event loop's other connections: sign-in on Cognito's pages needs a few
    /// hashes and seals. Elsewhere there are passwords, whose proof takes milliseconds.
    var computesLittle: Bool {
        guard case .account(let operation, _) = target else { return false }
        return operation.isHosted
    }

    /// The answer, where what has been verified is all that it takes.
    var immediateAnswer: AccountAnswer? {
        guard case .session(let operation, let sessions) = target, let token else { return nil }
        return sessions.immediateAnswer(to: operation, by: token)
    }

    /// The closure that asks for the answer. It can be called anywhere.
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

    /// - Parameter bearer: only a token that was verified is handed on, or one that the endpoint verifies itself.
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

    /// From the path as the route was matched with.
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
