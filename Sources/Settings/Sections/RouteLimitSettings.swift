internal import HTTPTypes
internal import Pipeline
internal import SettingsReader

extension RouteNetworks {
    /// Reads a route's `allow` and `deny`; nil if it has neither.
    static func of(_ keys: SettingsMapping) -> RouteNetworks? {
        for key in ["allow", "deny"] where keys.isEmptyList(key) {
            keys.error(key, "must hold at least one address or network, or be left out")
        }
        let networks = RouteNetworks(
            allow: keys.list("allow", .network, of: "addresses or networks") ?? [],
            deny: keys.list("deny", .network, of: "addresses or networks") ?? [])
        return networks == RouteNetworks() ? nil : networks
    }
}

extension RouteRateLimit {
    private enum KeyName: String, CaseIterable {
        case address, subject, header
    }

    private static let largestBurst = 100_000

    /// Reads a route's `rate_limit`.
    static func of(_ keys: SettingsMapping, access: Access) -> RouteRateLimit? {
        guard let node = keys.optional("rate_limit") else { return nil }
        return node.section { keys in
            let rate = keys.required("rate", .limitedRate)
            let burst = keys.value("burst", .integer(1...largestBurst))
            let key = Self.key(keys, access: access)
            guard let rate, let key else { return nil }
            return RouteRateLimit(rate: rate, burst: burst ?? min(rate.count, largestBurst), key: key)
        } ?? nil
    }

    private static func key(_ keys: SettingsMapping, access: Access) -> Key? {
        let header = keys.value("header", .fieldName)
        switch keys.value("by", .oneOf, default: KeyName.address) {
        case .address:
            if keys.has("header") { keys.error("header", "has no effect without by: header") }
            return .address
        case .subject:
            if keys.has("header") { keys.error("header", "has no effect without by: header") }
            if access == .public { keys.error("by", "a public route looks at no token, and knows no subject") }
            return .subject
        case .header:
            if !keys.has("header") { keys.error("by", "needs header, the name of the header that identifies callers") }
            return header.map(Key.header)
        }
    }
}

extension ScalarFormat where Value == HTTPField.Name {
    fileprivate static var fieldName: Self {
        Self { (text) throws(ScalarRefusal) in
            guard text.utf8.count <= 64, let name = HTTPField.Name(text) else {
                throw ScalarRefusal("must be the name of a header")
            }
            return name
        }
    }
}
