package import HTTP1

/// The reason that a request was refused or did not complete: for logs, metrics and decisions, never for clients.
///
/// The list is closed: the label of the metric `gatehouse_denials_total`, and `gatehouse reference` with the
/// documentation generated from it, have exactly ``codes``.
package enum Reason: Hashable, Sendable, CaseIterable {
    case request(RequestFault)
    case http1(HTTP1Fault)
    case path(PathFault)
    case token(RejectReason)
    case policy(PolicyDenial)
    case webSocket(WebSocketEnd)
    case upstream(UpstreamReason)
    case account(AccountError)
    case limit(LimitCause)
    case cognito(CognitoErrorKind)
    case apple(AppleSignInError)
    case appleClient(AppleClientErrorKind)

    package static let allCases: [Reason] =
        RequestFault.allCases.map { .request($0) }
        + HTTP1Fault.allCases.map { .http1($0) }
        + PathFault.allCases.map { .path($0) }
        + RejectReason.allCases.map { .token($0) }
        + PolicyDenial.allCases.map { .policy($0) }
        + WebSocketEnd.allCases.map { .webSocket($0) }
        + UpstreamReason.allCases.map { .upstream($0) }
        + AccountError.allCases.map { .account($0) }
        + LimitCause.allCases.map { .limit($0) }
        + CognitoErrorKind.allCases.map { .cognito($0) }
        + AppleSignInError.allCases.map { .apple($0) }
        + AppleClientErrorKind.allCases.map { .appleClient($0) }

    /// The step or dependency that a reason belongs to, as `gatehouse reference` names it.
    package enum Kind: String, Sendable {
        case request, http1, path, token, policy, upstream, account, limit, cognito, apple
        case webSocket = "websocket"
        case appleClient = "apple-client"
    }

    package var kind: Kind {
        switch self {
        case .request: .request
        case .http1: .http1
        case .path: .path
        case .token: .token
        case .policy: .policy
        case .webSocket: .webSocket
        case .upstream: .upstream
        case .account: .account
        case .limit: .limit
        case .cognito: .cognito
        case .apple: .apple
        case .appleClient: .appleClient
        }
    }

    /// The code in logs and metrics. Reasons of different kinds may share one, such as a user disabled in Cognito and
    /// one disabled in the gateway.
    package var code: String {
        switch self {
        case .request(let reason): reason.rawValue
        case .http1(let reason): reason.rawValue
        case .path(let reason): reason.rawValue
        case .token(let reason): reason.rawValue
        case .policy(let reason): reason.rawValue
        case .webSocket(let reason): reason.rawValue
        case .upstream(let reason): reason.rawValue
        case .account(let reason): reason.rawValue
        case .limit(let reason): reason.rawValue
        case .cognito(let reason): reason.rawValue
        case .apple(let reason): reason.rawValue
        case .appleClient(let reason): reason.rawValue
        }
    }

    /// All codes, without duplicates.
    package static let codes: [String] = {
        var seen: Set<String> = []
        return allCases.map(\.code).filter { seen.insert($0).inserted }
    }()
}
