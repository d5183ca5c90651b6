internal import Encoding
package import HTTPTypes

/// The paths of a pool's hosted domain that released apps are known to use.
package enum HostedPath: String, Sendable, CaseIterable {
    case authorize = "/oauth2/authorize"
    case login = "/login"
    case signUp = "/signup"
    case forgotPassword = "/forgotPassword"
    case logout = "/logout"
    case token = "/oauth2/token"
    case revoke = "/oauth2/revoke"
    case userInfo = "/oauth2/userInfo"

    /// The path of a request, compared byte for byte; nil if it is none of these.
    package init?(of request: HTTPRequest) {
        let target = request.path ?? ""
        self.init(exactly: String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") })))
    }

    /// Whether browsers open this path, rather than apps themselves.
    package var isPage: Bool {
        switch self {
        case .authorize, .login, .signUp, .forgotPassword, .logout: true
        case .token, .revoke, .userInfo: false
        }
    }
}
