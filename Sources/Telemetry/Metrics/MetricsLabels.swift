/// The label values that metrics are counted by. They are taken from the settings, never from a client, so that their
/// number is bounded.
package struct MetricsLabels: Sendable {
    /// Names of the routes; what took none counts as `none`.
    package var routes: [String]
    package var upstreams: [String]
    /// For each upstream the names of its servers. Counters number them through.
    package var servers: [[String]]
    /// Codes of refusals; others count as `other`.
    package var denialReasons: [String]
    /// Codes of reasons for which connections are not let in.
    package var connectionRefusals: [String]
    /// Names of the errors for which HTTP/2 connections are ended.
    package var connectionErrors: [String]
    /// Cognito operations that apps may try to call; others count as `other`.
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

/// Whether a method only asks (RFC 9110 §9.2.1), as a label.
enum MethodClass {
    static let labels = ["safe", "unsafe"]
}

/// The first digit of a status, as a label.
enum StatusClass {
    static let labels = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"]

    @inline(__always)
    static func index(of status: Int) -> Int {
        (100..<600).contains(status) ? status / 100 - 1 : 5
    }
}
