package import HTTPTypes

/// The endpoints of sign-in with Apple and of the gateway's own sessions. The raw value names the operation in logs.
package enum SessionOperation: String, Sendable, CaseIterable {
    case nonce = "apple-nonce"
    case apple = "apple-sign-in"
    case notifications = "apple-notifications"
    case validate = "session-validate"
    case refresh = "session-refresh"
    case logout = "session-logout"
    case deleteMe = "session-delete-me"
    case export = "session-export"

    package var method: HTTPRequest.Method {
        switch self {
        case .deleteMe: .delete
        case .export: .get
        default: .post
        }
    }

    /// The path behind the prefix, without a slash at the beginning.
    package var path: String {
        switch self {
        case .nonce: "apple/nonce"
        case .apple: "apple"
        case .notifications: "apple/notifications"
        case .validate: "validate"
        case .refresh: "refresh"
        case .logout: "logout"
        case .deleteMe: "me"
        case .export: "me/export"
        }
    }

    package enum Bearer: Sendable {
        /// None is looked at.
        case ignored
        /// There must be a valid session.
        case required
        /// There must be a session, which may have expired: the endpoint judges it.
        case judged
    }

    package var bearer: Bearer {
        switch self {
        case .nonce, .apple, .notifications: .ignored
        case .validate, .deleteMe, .export: .required
        case .refresh, .logout: .judged
        }
    }

    /// The account call with the same limits and audit events.
    var nearest: AccountOperation {
        switch self {
        case .apple, .nonce: .login
        case .notifications, .validate: .me
        case .refresh: .refresh
        case .logout: .logout
        case .deleteMe: .deleteMe
        case .export: .export
        }
    }
}

/// A request to an endpoint of the sessions.
package typealias SessionRequest = EndpointRequest<SessionOperation>
