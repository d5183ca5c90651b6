internal import Encoding
internal import Pipeline

/// The hosts that a listener serves, regardless of the port.
package struct HostNames: Sendable, Equatable {
    /// In lower case.
    private var names: [String] = []
    /// The parts after the `*`, such as `.example.com`.
    private var suffixes: [String] = []
    private var addresses: [IPAddress] = []

    /// - Parameter names: host names in lower case, wildcards such as `*.example.com`, which match exactly one label,
    ///   and IP addresses.
    package init(_ names: [String]) {
        for name in names {
            if let address = IPAddress(name) {
                addresses.append(address)
            } else if name.utf8.starts(with: "*.".utf8) {
                suffixes.append(String(Substring(name.utf8.dropFirst())))
            } else {
                self.names.append(name)
            }
        }
    }

    /// Returns whether the host of an authority (`host`, `host:port`) is one of them. Case and trailing dots are
    /// ignored. The lists are too short for anything faster than a linear search.
    ///
    /// - Precondition: `authority` is valid.
    func contains(_ authority: String) -> Bool {
        let bytes = authority.utf8.span
        guard let first = bytes.isEmpty ? nil : bytes[0] else { return false }
        if first == UInt8(ascii: "[") {
            return IPAddress(Substring(authority.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") }))
                .map(addresses.contains) ?? false
        }
        var end = 0
        while end < bytes.count, bytes[end] != UInt8(ascii: ":") { end += 1 }
        let host = Substring(authority.utf8.prefix(end))
        while end > 0, bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
        for name in names where name.utf8.count == end && Self.matches(bytes, name, at: 0) { return true }
        for suffix in suffixes {
            let start = end - suffix.utf8.count
            if start > 0, Self.matches(bytes, suffix, at: start), !Self.hasDot(bytes, before: start) { return true }
        }
        guard !addresses.isEmpty, let address = IPAddress(host) else { return false }
        return addresses.contains(address)
    }

    /// Returns whether `bytes` contain `text`, which is in lower case, at `start`, ignoring case.
    private static func matches(_ bytes: borrowing Span<UInt8>, _ text: String, at start: Int) -> Bool {
        let text = text.utf8.span
        for index in text.indices {
            let byte = bytes[start + index]
            let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            if lower != text[index] { return false }
        }
        return true
    }

    private static func hasDot(_ bytes: borrowing Span<UInt8>, before end: Int) -> Bool {
        for index in 0..<end where bytes[index] == UInt8(ascii: ".") { return true }
        return false
    }
}
