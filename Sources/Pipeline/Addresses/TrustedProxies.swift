package import HTTPTypes

/// The proxies in front whose word for a client's address is believed.
///
/// Each proxy appends the address that it has a request from to `X-Forwarded-For`. So the client is the last one there
/// that is no proxy's: all before it is the client's own word.
package struct TrustedProxies: Sendable, Equatable {
    private let networks: [IPNetwork]

    /// Nil for none.
    package init?(_ networks: [IPNetwork]) {
        guard !networks.isEmpty else { return nil }
        self.networks = networks
    }

    /// The client's address as text.
    ///
    /// - Parameter peer: whom the connection is with.
    package func client(peer: String, _ fields: HTTPFields) -> String {
        guard let connected = IPAddress(peer), isTrusted(connected) else { return peer }
        var client = connected
        for field in fields.reversed() where field.name == .xForwardedFor {
            for element in field.value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .reversed()
            {
                // Behind what cannot be read nobody is known.
                guard let address = Self.address(Substring(element)) else { return client.description }
                client = address
                guard isTrusted(address) else { return client.description }
            }
        }
        return client.description
    }

    private func isTrusted(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// An address, which some proxies write with a port, and that of IPv6 in brackets.
    private static func address(_ text: Substring) -> IPAddress? {
        let trimmed = text.drop { $0 == " " || $0 == "\t" }
        let element = Substring(trimmed.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
        if element.hasPrefix("["), let end = element.firstIndex(of: "]") {
            return IPAddress(element[..<end].dropFirst())
        }
        if let address = IPAddress(element) { return address }
        let parts = element.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 2 ? IPAddress(parts[0]) : nil
    }
}

extension HTTPField.Name {
    static let xForwardedFor: HTTPField.Name = known("X-Forwarded-For")

    private static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is a token") }
        return name
    }
}
