package import HTTPTypes

/// The networks from which a route may be called.
package struct RouteNetworks: Sendable, Equatable {
    /// Empty: all networks that ``deny`` does not list.
    package var allow: [IPNetwork]
    package var deny: [IPNetwork]

    package init(allow: [IPNetwork] = [], deny: [IPNetwork] = []) {
        self.allow = allow
        self.deny = deny
    }

    /// - Parameter client: the client's address; an invalid address is not admitted.
    func admit(_ client: String) -> Bool {
        guard let address = IPAddress(client), !deny.contains(where: { $0.contains(address) }) else { return false }
        return allow.isEmpty || allow.contains { $0.contains(address) }
    }
}

/// The rate limit of a route, and the key by which calls are counted together.
package struct RouteRateLimit: Sendable, Equatable {
    package enum Key: Sendable, Equatable {
        /// The client's address; for IPv6 its /64.
        case address
        /// The subject of the verified token; the address if there is none.
        case subject
        /// The values of a header; the address if it is missing.
        case header(HTTPField.Name)
    }

    package var rate: RateLimit
    /// The number of calls that may arrive at once.
    package var burst: Int
    package var key: Key

    package init(rate: RateLimit, burst: Int, key: Key = .address) {
        self.rate = rate
        self.burst = burst
        self.key = key
    }
}
