internal import Cryptography
internal import HTTPTypes
internal import Pipeline
internal import SignIn

/// A request to one of the gateway's own endpoints while its body is collected.
final class EndpointCall {
    var body: [UInt8] = []
    let accounts: CognitoAccounts
    private let operation: AccountOperation
    private let token: VerifiedToken?
    private let head: HTTPRequest
    private let requestID: String
    private let peer: String

    init(
        _ operation: AccountOperation, of accounts: CognitoAccounts, _ token: VerifiedToken?, _ head: HTTPRequest,
        requestID: String, peer: String
    ) {
        self.accounts = accounts
        self.operation = operation
        self.token = token
        self.head = head
        self.requestID = requestID
        self.peer = peer
    }

    func accountRequest() -> AccountRequest {
        AccountRequest(
            operation: operation, body: body, contentType: head.headerFields[.contentType], bearer: bearer,
            identity: token, bearerHasEnded: bearerHasEnded, requestID: requestID, clientAddress: peer,
            userAgent: head.headerFields[.userAgent])
    }

    /// Whether the gate has let a token pass for none.
    private var bearerHasEnded: Bool {
        guard operation.bearer == .orEnded, token == nil, case .value = BearerToken(of: head) else { return false }
        return true
    }

    /// Only a token that was verified is handed on.
    private var bearer: Secret? {
        guard token != nil, case .value(let value, let prefix) = BearerToken(of: head) else { return nil }
        return Secret(Array(value.utf8.dropFirst(prefix)))
    }
}
