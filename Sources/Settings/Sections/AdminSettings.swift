package import Cryptography
internal import Pipeline
internal import SettingsReader

/// Where `/healthz`, `/readyz`, `/metrics` and `/status` are served, and what it takes to see and change more.
package struct AdminSettings: Sendable {
    package var address: HostAndPort
    /// The token that further status and all changes require. Nil: anyone who can connect sees the status, and nothing
    /// can be changed.
    package var token: Secret?

    /// Whether only this machine can connect.
    package var isLocal: Bool { address.isLoopback }
}

extension AdminSettings {
    /// - Parameter listeners: the addresses for clients.
    init(reading keys: SettingsMapping, listeners: [HostAndPort]) {
        let node = keys.optional("address")
        address = node?.read(.listenAddress) ?? GatewaySettings.standardAdminAddress
        keys.notePlace(of: "address")
        (node ?? keys.node).refuse(address, usedIn: listeners)
        let tokenNode = keys.optional("token")
        token = tokenNode?.readSecret()
        if let token, token.expose().count < 16 || !token.expose().allSatisfy({ (0x21...0x7E).contains($0) }) {
            tokenNode?.error("must be at least 16 visible ASCII characters")
        }
        let isPublic = keys.value("allow_public_without_token", .boolean, default: false)
        if !address.isLoopback, tokenNode == nil, !isPublic {
            (node ?? keys.node).refuse(
                "can be reached from outside: set admin.token, or admin.allow_public_without_token to true")
        }
    }
}

extension HostAndPort {
    /// Whether only this machine can connect to it.
    var isLoopback: Bool {
        guard let address = IPAddress(host) else { return host == "localhost" }
        return Self.loopbacks.contains { $0.contains(address) }
    }

    private static let loopbacks = ["127.0.0.0/8", "::1"].compactMap { try? IPNetwork($0) }
}
