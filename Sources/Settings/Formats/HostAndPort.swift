internal import Pipeline
internal import SettingsReader

/// A host and a TCP port, as in `127.0.0.1:8080`, `localhost:80` or `[::1]:8080`.
package struct HostAndPort: Sendable, Hashable, CustomStringConvertible {
    /// A name or IP address in lower case; IPv6 without its brackets.
    package let host: String
    /// 0 lets the system choose; listeners only.
    package let port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// Parses `host:port`; nil for anything else.
    package init?(address text: String) {
        guard let (host, port) = Self.split(text[...]), let port else { return nil }
        self.init(host: host, port: port)
    }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// Whether the system would refuse to listen on both: the addresses are equal, or one is a wildcard address that
    /// includes the other. `[::]` includes IPv4 (RFC 3493, 5.3). Names are not resolved.
    func overlaps(_ other: HostAndPort) -> Bool {
        guard port != 0, port == other.port else { return false }
        let addresses = [IPAddress(host), IPAddress(other.host)]
        if addresses.contains(Self.everyAddress) { return true }
        guard let address = addresses[0], let otherAddress = addresses[1] else { return false }
        return address == otherAddress
            || addresses.contains(Self.everyIPv4Address) && address.isIPv4 && otherAddress.isIPv4
    }

    private static let everyAddress = IPAddress("::")
    private static let everyIPv4Address = IPAddress("0.0.0.0")

    /// Parses `host` or `host:port`; nil for anything else. `port` is nil if absent.
    static func split(_ text: Substring) -> (host: String, port: Int?)? {
        let host: Substring
        var rest: Substring
        if text.hasPrefix("[") {
            guard let close = text.firstIndex(of: "]") else { return nil }
            host = text[..<close].dropFirst()
            rest = text[close...].dropFirst()
            guard isIPv6(host) else { return nil }
        } else {
            host = text.prefix { $0 != ":" }
            rest = text[host.endIndex...]
            guard isNameOrIPv4(host) else { return nil }
        }
        guard !rest.isEmpty else { return (host.lowercased(), nil) }
        guard rest.removeFirst() == ":", (1...5).contains(rest.count), rest.allSatisfy({ $0.isASCII && $0.isNumber }),
            let port = Int(rest), port <= 65535
        else { return nil }
        return (host.lowercased(), port)
    }

    /// Checks only the characters of an address; the resolver checks the rest. A zone such as `%eth0` is allowed.
    private static func isIPv6(_ text: Substring) -> Bool {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        return parts[0].contains(":")
            && parts[0].allSatisfy { $0.isASCII && ($0.isHexDigit || $0 == ":" || $0 == ".") }
            && (parts.count == 1 || isNameOrIPv4(parts[1]))
    }

    /// Whether `text` consists of non-empty labels of letters, digits, `-` and `_` (RFC 1123, section 2.1; container
    /// networks use `_`).
    private static func isNameOrIPv4(_ text: Substring) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        return text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            (1...63).contains(label.count) && label.first != "-" && label.last != "-"
                && label.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
        }
    }
}

extension ScalarFormat where Value == HostAndPort {
    /// The address of a listener: host and port.
    static var listenAddress: Self {
        let schema = ScalarSchema(.pattern(":[0-9]{1,5}$"), "Host and port, such as 127.0.0.1:8080 or [::1]:8080.")
        return Self(schema: schema, show: \.description) { (text) throws(ScalarRefusal) in
            guard let (host, port) = HostAndPort.split(text[...]), let port else {
                throw ScalarRefusal("must be an address like 127.0.0.1:8080, 0.0.0.0:8080 or [::1]:8080")
            }
            return HostAndPort(host: host, port: port)
        }
    }
}
