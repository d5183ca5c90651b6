package import Pipeline
internal import SettingsReader

/// The external authorization of a listener: a proxy asks whether its requests are allowed.
package struct ExternalAuthorizationSettings: Sendable, Equatable {
    package var proxy: ExternalAuthorization.Proxy
    /// The peers that may send authorization requests; not empty.
    package var trusted: [IPNetwork]

    /// - Parameter listener: the section of the listener, whose other keys may conflict.
    static func read(in listener: SettingsMapping) -> ExternalAuthorizationSettings? {
        guard let node = listener.optional("external_authorization") else { return nil }
        for (name, reason) in others where listener.has(name) {
            listener.error(name, "has no effect with external_authorization: \(reason)")
        }
        return node.section { keys -> ExternalAuthorizationSettings? in
            let proxy = keys.required("proxy", ScalarFormat<ExternalAuthorization.Proxy>.oneOf)
            let trusted = ListenSettings.proxies(reading: keys)
            guard let proxy, !trusted.isEmpty else { return nil }
            return ExternalAuthorizationSettings(proxy: proxy, trusted: trusted)
        } ?? nil
    }

    private static let others = [
        ("redirect_to_https", "every request is a question"),
        ("proxy_protocol", "the connection's peer must be the proxy that asks"),
        ("server_names", "use routes[].hosts, which apply to the original request's host"),
    ]
}
