internal import Pipeline
internal import SettingsReader

/// A valid setting whose consequences an operator should know.
package struct SettingsWarning: Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// A header that servers trust is forwarded from clients.
        case trustedHeader = "trusted-header"
        /// A stricter route is inside a laxer one, and the settings don't say whether the backend ignores case.
        case pathCase = "path-case"
        /// An attribute that users can set by default decides about access.
        case writableAttribute = "writable-attribute"
        /// Passwords are sent to a network listener without TLS.
        case plainPasswords = "plain-passwords"
        /// The admin listener is reachable from the network without TLS.
        case plainAdmin = "plain-admin"
    }

    package let kind: Kind
    /// Such as `routes[2].forward_headers`.
    package let keyPath: String
    package let line: Int
    package let text: String

    init(kind: Kind, place: SettingsPlace, _ text: String) {
        self.kind = kind
        keyPath = place.keyPath
        line = place.line
        self.text = text
    }

    package var description: String { "line \(line): \(keyPath): \(text)" }
}

extension GatewaySettings {
    /// The warnings of `gatehouse check` about valid settings, in the order of the file.
    package var warnings: [SettingsWarning] {
        let headers = upstreams.flatMap(\.forwardHeaders.warnings) + routes.flatMap(\.forwardHeaders.warnings)
        let more = attributeWarnings + upstreams.compactMap(pathCaseWarning) + plainPasswords
        return (headers + more + [plainAdmin].compactMap { $0 }).sorted { $0.line < $1.line }
    }

    /// The network listeners that receive passwords in plain text: without TLS, and without a known proxy that could
    /// terminate TLS. Listeners that only redirect to https are excluded.
    package var plainPasswords: [SettingsWarning] {
        guard !signIn.pools.isEmpty, trustedProxies.isEmpty else { return [] }
        return listeners.enumerated().compactMap { index, listener in
            guard listener.tls == nil, listener.httpsPort == nil, listener.proxies.isEmpty,
                listener.authorization == nil, !listener.address.isLoopback,
                let place = places["listeners[\(index)].address"]
            else { return nil }
            return SettingsWarning(
                kind: .plainPasswords, place: place,
                "passwords come to \(listener.address) without TLS: add tls, or name the proxy that speaks TLS in "
                    + "trusted_proxies or proxy_protocol, or listen on 127.0.0.1")
        }
    }

    /// The warning that the admin listener is reachable from the network without TLS, where tokens and responses can be
    /// intercepted; nil otherwise.
    package var plainAdmin: SettingsWarning? {
        guard admin.tls == nil, !admin.isLocal, let place = places["admin.address"] else { return nil }
        let what = admin.tokens.isEmpty ? "metrics and status go" : "tokens come"
        return SettingsWarning(
            kind: .plainAdmin, place: place,
            "\(what) to \(admin.address) without TLS: add admin.tls, or listen on 127.0.0.1")
    }

    /// A warning about the first route of the upstream that can be bypassed by a path in other case. Nil if the
    /// upstream's `paths` is set.
    private func pathCaseWarning(_ upstream: UpstreamSection) -> SettingsWarning? {
        let key = "upstreams.\(upstream.name).paths"
        guard values.contains(where: { $0.path == key && $0.source == .standard }) else { return nil }
        let own = routes.filter { $0.upstream == upstream.name }.compactMap { route in
            (try? RoutePattern(route.path)).map { (route: route, pattern: $0) }
        }
        for strict in own {
            for lax in own
            where strict.route.isStricter(than: lax.route) && strict.route.mayShareHost(with: lax.route)
                && lax.pattern.takes(recased: strict.pattern)
            {
                return SettingsWarning(
                    kind: .pathCase, place: strict.route.place,
                    "\(strict.route.path) with other letters in capitals comes under \(lax.route.path), which asks for "
                        + "less, and goes to the same upstream: set upstreams.\(upstream.name).paths to "
                        + "case_insensitive if the backend ignores case, as Express does, else to case_sensitive")
            }
        }
        return nil
    }
}

extension RouteSettings {
    /// Whether a request may match the hosts of both routes.
    fileprivate func mayShareHost(with other: RouteSettings) -> Bool {
        guard let hosts, let others = other.hosts else { return true }
        return (hosts + others).contains { $0.hasPrefix("*.") } || hosts.contains(where: others.contains)
    }

    /// Whether this route's token rules refuse a request that the other route accepts.
    fileprivate func isStricter(than other: RouteSettings) -> Bool {
        let order = Access.allCases
        let (own, others) = (order.firstIndex(of: access) ?? 0, order.firstIndex(of: other.access) ?? 0)
        guard own == others else { return own > others }
        if let requirements, requirements != other.requirements { return true }
        if path.contains("{sub}"), !other.path.contains("{sub}") { return true }
        return !Set(other.issuers).isSubset(of: issuers) || !Set(other.tokenUses).isSubset(of: tokenUses)
    }
}
