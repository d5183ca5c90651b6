package import HTTPTypes

/// From where a route may be called.
package struct RouteNetworks: Sendable, Equatable {
    /// Empty: from everywhere that ``deny`` leaves.
    package var allow: [IPNetwork]
    package var deny: [IPNetwork]

    package init(allow: [IPNetwork] = [], deny: [IPNetwork] = []) {
        self.allow = allow
        self.deny = deny
    }

    /// - Parameter client: the client's address; what is none comes from nowhere.
    func admit(_ client: String) -> Bool {
        guard let address = IPAddress(client), !deny.contains(where: { $0.contains(address) }) else { return false }
        return allow.isEmpty || allow.contains { $0.contains(address) }
    }
}

/// How often a route may be called, and whose calls count together.
package struct RouteRateLimit: Sendable, Equatable {
    package enum Key: Sendable, Equatable {
        /// The client's address, of IPv6 the /64.
        case address
        /// The subject of the verified token; the address where there is none.
        case subject
        /// The values of a header; the address where it is missing.
        case header(HTTPField.Name)
    }

    package var rate: RateLimit
    /// How many may come at once.
    package var burst: Int
    package var key: Key

    package init(rate: RateLimit, burst: Int, key: Key = .address) {
        self.rate = rate
        self.burst = burst
        self.key = key
    }
}
