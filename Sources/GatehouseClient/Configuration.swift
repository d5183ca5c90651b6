public import Foundation

/// How the client reaches its gateway, and when it refreshes.
public struct Configuration: Sendable {
    /// The gateway's URL: scheme, host and port. A path in it precedes every path.
    public var url: URL
    /// The path of the account calls (`sign_in.cognito.prefix`).
    public var accountPath = "/api/v1/auth"
    /// The path of the calls of Sign in with Apple (`sign_in.apple.prefix`).
    public var sessionPath = "/api/auth"
    /// The description of the device that account calls send.
    public var device: DeviceInfo = .current
    /// Seconds before the end of an access token at which it is refreshed.
    public var refreshLead: TimeInterval = 60
    /// The same for sessions of Sign in with Apple, whose tokens are good for weeks; at most half of a token's lifetime.
    public var sessionRefreshLead: TimeInterval = 24 * 3600
    /// Seconds that a request waits for the gateway.
    public var timeout: TimeInterval = 30
    /// How often a sign-in is sent again after the network failed, at intervals of a second.
    public var signInRetries = 2

    public init(url: URL) { self.url = url }
}
