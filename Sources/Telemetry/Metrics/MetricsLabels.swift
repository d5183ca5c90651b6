/// The label values of metrics. They come from the settings and closed lists, never from a client, so their number is
/// bounded.
package struct MetricsLabels: Sendable {
    /// The names of the routes; requests without a route count as `none`.
    package var routes: [String]
    package var upstreams: [String]
    /// For each upstream, the names of its servers. Counters number the servers of all upstreams consecutively.
    package var servers: [[String]]
    /// The codes of refusals; others count as `other`.
    package var denialReasons: [String]
    /// The codes of reasons for which connections are refused.
    package var connectionRefusals: [String]
    /// The names of the errors for which HTTP/2 connections are closed.
    package var connectionErrors: [String]
    /// The Cognito operations that apps may try to call; others count as `other`.
    var directCognitoOperations: [String]

    package init(
        routes: [String], upstreams: [String], servers: [[String]] = [], denialReasons: [String],
        connectionRefusals: [String] = [], connectionErrors: [String] = [],
        directCognitoOperations: [String] = MetricsLabels.cognitoClientOperations
    ) {
        self.routes = routes
        self.upstreams = upstreams
        self.servers = servers
        self.denialReasons = denialReasons
        self.connectionRefusals = connectionRefusals
        self.connectionErrors = connectionErrors
        self.directCognitoOperations = directCognitoOperations
    }

    /// A unique key for each server.
    var serverKeys: [String] {
        zip(upstreams, servers).flatMap { upstream, servers in servers.map { "\(upstream)\n\($0)" } }
    }

    /// The operations that apps call without AWS credentials.
    static let cognitoClientOperations = [
        "AssociateSoftwareToken", "ChangePassword", "ConfirmDevice", "ConfirmForgotPassword", "ConfirmSignUp",
        "DeleteUser", "DeleteUserAttributes", "ForgetDevice", "ForgotPassword", "GetDevice",
        "GetTokensFromRefreshToken", "GetUser", "GetUserAttributeVerificationCode", "GlobalSignOut", "InitiateAuth",
        "ListDevices", "ResendConfirmationCode", "RespondToAuthChallenge", "RevokeToken", "SetUserMFAPreference",
        "SetUserSettings", "SignUp", "UpdateDeviceStatus", "UpdateUserAttributes", "VerifySoftwareToken",
        "VerifyUserAttribute",
    ]
}

/// Whether a method is safe (RFC 9110 §9.2.1), as a label.
enum MethodClass {
    static let labels = ["safe", "unsafe"]
}

/// The class of a status, as a label.
enum StatusClass {
    static let labels = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"]

    @inline(__always)
    static func index(of status: Int) -> Int {
        (100..<600).contains(status) ? status / 100 - 1 : 5
    }
}
