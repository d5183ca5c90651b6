package import HTTPTypes

/// The account endpoints that the gateway answers itself. The raw value names the operation in logs and limits.
package enum AccountOperation: String, Sendable, CaseIterable {
    case login
    case challenge
    case refresh
    case logout
    case register
    case confirm
    case resendCode = "resend-code"
    case forgotPassword = "forgot-password"
    case resetPassword = "reset-password"
    case changePassword = "change-password"
    case me
    case updateMe = "update-me"
    case deleteMe = "delete-me"
    case export
    case setUpTOTP = "set-up-totp"
    case verifyTOTP = "verify-totp"
    case removeTOTP = "remove-totp"

    package var method: HTTPRequest.Method {
        switch self {
        case .me, .export: .get
        case .updateMe: .patch
        case .deleteMe, .removeTOTP: .delete
        default: .post
        }
    }

    /// The path behind the prefix, without a slash at the beginning.
    package var path: String {
        switch self {
        case .me, .updateMe, .deleteMe: "me"
        case .export: "me/export"
        case .setUpTOTP, .removeTOTP: "mfa/totp"
        case .verifyTOTP: "mfa/totp/verify"
        default: rawValue
        }
    }

    /// The pipeline's treatment of an access token before this operation.
    package var bearer: Bearer {
        switch self {
        case .changePassword, .me, .updateMe, .deleteMe, .export, .setUpTOTP, .verifyTOTP, .removeTOTP: .required
        case .logout: .orEnded
        default: .ignored
        }
    }

    package enum Bearer: Sendable {
        /// None is looked at: a stale one that an app still sends must not keep its user from signing in.
        case ignored
        /// There must be a valid one.
        case required
        /// One that is there must be valid, or have been: who has been signed out already may sign out.
        case orEnded
    }

    /// Every operation with its method and path, for the route table.
    ///
    /// - Parameter prefix: the path before the operation's, without a slash at the end.
    package static func all(
        prefix: String = "/api/v1/auth"
    ) -> [(method: HTTPRequest.Method, path: String, operation: AccountOperation)] {
        allCases.map { ($0.method, "\(prefix)/\($0.path)", $0) }
    }
}
