/// A route whose requests may become WebSockets.
package struct WebSocketSettings: Sendable, Equatable {
    /// Whether a WebSocket is closed when the token that opened it expires.
    package var closeOnExpiry: Bool
    /// How long nothing need go either way before it is closed.
    package var idleTimeout: Duration
}

extension WebSocketSettings {
    /// Reads a route's `websocket: true`, or the section that says more.
    static func of(_ keys: SettingsMapping, access: AccessSetting, methods: [String]?) -> WebSocketSettings? {
        guard let node = keys.optional("websocket") else { return nil }
        let standard = WebSocketSettings(closeOnExpiry: true, idleTimeout: .seconds(3600))
        let isOn: Bool
        var settings = standard
        if node.isScalar, !node.isNull {
            isOn = node.read(.boolean) ?? false
        } else {
            isOn = true
            settings = node.section { Self(reading: $0, access: access) } ?? standard
        }
        guard isOn else { return nil }
        if let methods, !methods.contains("GET") {
            node.fault("a WebSocket is opened with GET, which methods leaves out")
        }
        return settings
    }

    private init(reading keys: SettingsMapping, access: AccessSetting) {
        closeOnExpiry = keys.value("close_on_expiry", .boolean, default: true)
        if access == .public { keys.fault("close_on_expiry", "has no effect on a public route") }
        idleTimeout = keys.value("idle_timeout", .silence, default: .seconds(3600))
    }
}

extension ScalarFormat where Value == Duration {
    fileprivate static var silence: Self { .duration(.seconds(1) ... .seconds(30 * 86_400)) }
}
