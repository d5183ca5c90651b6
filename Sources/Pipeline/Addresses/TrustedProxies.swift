internal import Encoding
package import HTTPTypes

/// The proxies whose statements about a client's address and scheme are trusted.
///
/// Each proxy appends the address that it received the request from to `X-Forwarded-For`. The client is therefore the
/// last address there that is not a trusted proxy's. A client can forge everything before it.
package struct TrustedProxies: Sendable, Equatable {
    private let networks: [IPNetwork]

    /// Nil if `networks` is empty.
    package init?(_ networks: [IPNetwork]) {
        guard !networks.isEmpty else { return nil }
        self.networks = networks
    }

    /// A request's origin, as a trusted proxy states it.
    package struct Origin: Sendable, Equatable {
        /// The client's address as text.
        package let client: String
        /// `http` or `https`: the scheme over which the peer received the request. Nil if the peer sends no
        /// `X-Forwarded-Proto`; the connection's own scheme then applies.
        package let scheme: String?
    }

    /// The origin of a request; nil if the peer is not trusted.
    ///
    /// - Parameter peer: the address of the connection's peer.
    package func origin(peer: String, _ fields: HTTPFields) -> Origin? {
        guard let connected = IPAddress(peer), isTrusted(connected) else { return nil }
        return Origin(client: client(of: connected, fields).description, scheme: Self.scheme(fields))
    }

    private func client(of connected: IPAddress, _ fields: HTTPFields) -> IPAddress {
        var client = connected
        for field in fields.reversed() where field.name == .xForwardedFor {
            for element in Array(field.value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
                .reversed()
            {
                // An unreadable address ends the chain: nothing before it can be attributed.
                guard let address = Self.address(element) else { return client }
                client = address
                guard isTrusted(address) else { return client }
            }
        }
        return client
    }

    /// Whether the last element of `X-Forwarded-For`, which the last proxy wrote, is a valid address.
    static func namesClient(_ fields: HTTPFields) -> Bool {
        guard let field = fields.last(where: { $0.name == .xForwardedFor }) else { return false }
        let elements = Array(field.value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        return elements.last.flatMap(address) != nil
    }

    /// The scheme in the last value of `X-Forwarded-Proto`, which the trusted peer wrote; it received the values before
    /// it. A value other than `http` and `https` counts as `http`, which claims the least. Nil without the field.
    private static func scheme(_ fields: HTTPFields) -> String? {
        guard let field = fields.last(where: { $0.name == .xForwardedProto }) else { return nil }
        let elements = Array(field.value.utf8).split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        return elements.last?.withoutOuterBlanks.elementsEqual("https".utf8) == true ? "https" : "http"
    }

    package func isTrusted(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// Parses an address. Some proxies write it with a port, and IPv6 addresses in brackets.
    private static func address(_ text: ArraySlice<UInt8>) -> IPAddress? {
        let element = text.withoutOuterBlanks
        // An address has 45 bytes at most, its brackets two and its port six.
        guard element.count <= 53 else { return nil }
        if element.first == UInt8(ascii: "["), let end = element.firstIndex(of: UInt8(ascii: "]")) {
            let rest = element[end...].dropFirst()
            guard rest.isEmpty || (rest.first == UInt8(ascii: ":") && isPort(rest.dropFirst())) else { return nil }
            return IPAddress(String(decoding: element[..<end].dropFirst(), as: UTF8.self))
        }
        if let address = IPAddress(String(decoding: element, as: UTF8.self)) { return address }
        let parts = element.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        return parts.count == 2 && isPort(parts[1]) ? IPAddress(String(decoding: parts[0], as: UTF8.self)) : nil
    }

    private static func isPort(_ digits: ArraySlice<UInt8>) -> Bool {
        (1...5).contains(digits.count) && digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

extension HTTPField.Name {
    static let xForwardedFor: HTTPField.Name = known("X-Forwarded-For")
    static let xForwardedProto: HTTPField.Name = known("X-Forwarded-Proto")
}
