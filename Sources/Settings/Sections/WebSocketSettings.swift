internal import Pipeline
internal import SettingsReader

extension WebSocketPolicy {
    /// Reads a route's `websocket: true`, or a section with further settings.
    static func of(_ keys: SettingsMapping, access: Access, methods: [String]?) -> WebSocketPolicy? {
        guard let node = keys.optional("websocket") else { return nil }
        let standard = WebSocketPolicy()
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
            node.error("a WebSocket is opened with GET, which methods leaves out")
        }
        return settings
    }

    private init(reading keys: SettingsMapping, access: Access) {
        self.init()
        closesOnExpiry = keys.value("close_on_expiry", .boolean, default: closesOnExpiry)
        if access == .public { keys.error("close_on_expiry", "has no effect on a public route") }
        idleTimeout = keys.value("idle_timeout", .silence, default: idleTimeout)
    }
}

extension ScalarFormat where Value == Duration {
    fileprivate static var silence: Self { .duration(.seconds(1) ... .seconds(30 * 86_400)) }
}
