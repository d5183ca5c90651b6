internal import Encoding

/// Why a text is no network.
package enum IPNetworkError: Error, Equatable, Sendable {
    case malformed
    /// The address has bits behind the prefix: what was meant is a guess, here given as text.
    case bitsBehindPrefix(meant: String)
}

/// A block of addresses such as `10.0.0.0/8` or `2001:db8::/32` (RFC 4632 §3.1, RFC 4291 §2.3).
///
/// IPv4 addresses are only ever in IPv4 networks: `::/0` is all of IPv6 and nothing else. An IPv4 network may also be
/// written in the mapped form, as `::ffff:10.0.0.0/104`.
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    private let first: IPAddress
    /// Of 128 bits, for IPv4 as well.
    private let prefixLength: Int

    private static let mappedPrefixLength = 96

    /// Reads `address/length`, or an address alone for a network of one.
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

    /// Digits without leading zeros.
    private static func number(_ text: Substring) -> Int? {
        guard let number = UInt8(text), String(number) == text else { return nil }
        return Int(number)
    }
}
