internal import Encoding

/// The reason that a text is not a network.
package enum IPNetworkError: Error, Equatable, Sendable {
    case malformed
    /// The address has bits set after the prefix. `meant` is the network that the text probably means.
    case bitsBehindPrefix(meant: String)
}

/// A block of addresses such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632 §3.1, RFC 4291 §2.3).
///
/// IPv4 addresses are only ever in IPv4 networks: `::/0` is all of IPv6 and nothing else. An IPv4 network may also be
/// written in the mapped form, as `::ffff:10.0.0.0/104`.
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let first: IPAddress
    /// The length in bits of the 128-bit form, also for IPv4.
    private let prefixLength: Int

    private static let mappedPrefixLength = 96

    /// Parses `address/length`, or an address alone as a network of one address.
    package init(_ text: String) throws(IPNetworkError) {
        let slash = text.utf8.firstIndex(of: UInt8(ascii: "/")) ?? text.endIndex
        let addressText = text[..<slash]
        guard let address = IPAddress(addressText) else { throw .malformed }
        let isDotted = !addressText.utf8.contains(UInt8(ascii: ":"))
        let longest = isDotted ? 32 : 128
        let length = slash == text.endIndex ? longest : Self.number(text[slash...].dropFirst())
        guard let length, length <= longest else { throw .malformed }
        self.prefixLength = isDotted ? length + Self.mappedPrefixLength : length
        self.first = IPAddress(bits: address.bits & Self.mask(prefixLength))
        guard first == address else { throw .bitsBehindPrefix(meant: description) }
    }

    package func contains(_ address: IPAddress) -> Bool {
        isIPv4 == address.isIPv4 && address.bits & Self.mask(prefixLength) == first.bits
    }

    private var isIPv4: Bool { first.isIPv4 && prefixLength >= Self.mappedPrefixLength }

    package var description: String {
        "\(first)/\(isIPv4 ? prefixLength - Self.mappedPrefixLength : prefixLength)"
    }

    private static func mask(_ prefixLength: Int) -> UInt128 {
        prefixLength == 0 ? 0 : .max << (128 - prefixLength)
    }

    /// Parses a number without leading zeros; nil if the text is none.
    private static func number(_ text: Substring) -> Int? {
        guard let number = UInt8(text), String(number) == text else { return nil }
        return Int(number)
    }
}
