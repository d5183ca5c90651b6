package import Cryptography
internal import Pipeline
internal import SettingsReader

/// The admin listener, which serves `/healthz`, `/readyz`, `/metrics` and `/status`, and its authorization.
package struct AdminSettings: Sendable {
    package var address: HostAndPort
    /// Nil: the listener uses plain text.
    package var tls: TLSSettings?
    /// The accepted tokens; further status and all changes require one. Empty: anyone who can connect sees the status,
    /// and changes are disabled.
    package var tokens: [AdminToken]

    /// Whether only this machine can connect.
    package var isLocal: Bool { address.isLoopback }

    /// The admin listener in the form of the other listeners. It supports HTTP/1.1 only.
    package var listen: ListenSettings { ListenSettings(address: address, http2: false, tls: tls) }

    /// The token that equals `shown`; nil if none does. Takes constant time.
    package func owner(of shown: Secret) -> AdminToken? {
        var owner: AdminToken?
        for token in tokens where token.secret == shown { owner = token }
        return owner
    }
}

/// A token of an operator or a program, with its rights.
package struct AdminToken: Sendable {
    /// The name in the settings, which identifies the caller in logs.
    package var name: String
    package var secret: Secret
    package var rights: Set<AdminRight>

    package func allows(_ right: AdminRight) -> Bool {
        rights.contains(right) || rights.contains { $0.includes(right) }
    }
}

/// A right that a token of the admin listener grants.
package enum AdminRight: String, Sendable, CaseIterable {
    /// Metrics only.
    case metrics
    /// Status, history and metrics, and therefore the dashboard.
    case read
    case reload
    /// Drain the gateway or a server of an upstream, and put it back in service.
    case drain
    case logLevel = "log-level"
    /// Read users and sessions.
    case readUsers = "read-users"
    /// ``readUsers``, and end sessions, set roles and disable users.
    case users

    fileprivate func includes(_ other: AdminRight) -> Bool {
        switch (self, other) {
        case (.read, .metrics), (.users, .readUsers): true
        default: false
        }
    }
}

extension AdminSettings {
    /// - Parameter listeners: the addresses of the listeners for clients.
    init(reading keys: SettingsMapping, listeners: [HostAndPort]) {
        let node = keys.optional("address")
        address = node?.read(.listenAddress) ?? GatewaySettings.standardAdminAddress
        keys.notePlace(of: "address")
        (node ?? keys.node).refuse(address, usedIn: listeners)
        tls = keys.optional("tls").flatMap { $0.section { TLSSettings(reading: $0, mayObtain: false) } } ?? nil
        tokens = []
        let (all, metrics, named) = (keys.optional("token"), keys.optional("metrics_token"), keys.optional("tokens"))
        // Names of entries have no dots, so that these names are unique.
        if let all { add(all, Set(AdminRight.allCases), named: "admin.token") }
        if let metrics { add(metrics, [.metrics], named: "admin.metrics_token") }
        for (name, entry) in named?.entries(atLeastOne: "token") ?? [] {
            guard let (node, rights) = entry.section(Self.entry(reading:)) ?? nil else { continue }
            add(node, rights, named: name)
        }
        let isPublic = keys.value("allow_public_without_token", .boolean, default: false)
        if !address.isLoopback, all == nil, metrics == nil, named == nil, !isPublic {
            (node ?? keys.node).refuse(
                "can be reached from outside: set admin.token, or admin.allow_public_without_token to true")
        }
    }

    private static func entry(reading keys: SettingsMapping) -> (node: SettingsNode, rights: Set<AdminRight>)? {
        if keys.isEmptyList("may") { keys.error("may", "must hold at least one right") }
        let (node, isThere) = (keys.required("token"), keys.required("may") != nil)
        let rights: [AdminRight]? = isThere ? keys.list("may", .oneOf, of: "rights") : nil
        return node.map { ($0, Set(rights ?? [])) }
    }

    private mutating func add(_ node: SettingsNode, _ rights: Set<AdminRight>, named name: String) {
        guard let secret = node.readAdminToken() else { return }
        if let other = owner(of: secret) {
            node.error("is the same token as \(other.name): logs could not distinguish them")
        }
        tokens.append(AdminToken(name: name, secret: secret, rights: rights))
    }
}

extension SettingsNode {
    fileprivate func readAdminToken() -> Secret? {
        guard let token = readSecret() else { return nil }
        if token.expose().count < 16 || !token.expose().allSatisfy({ (0x21...0x7E).contains($0) }) {
            error("must be at least 16 visible ASCII characters")
        }
        return token
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
