internal import Glibc

/// An IPv4 or IPv6 address.
///
/// An IPv4 address and its IPv4-mapped form (RFC 4291 §2.5.5.2) are one value: a socket that takes both kinds shows
/// its IPv4 peers in the mapped form.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// The 128 bits of the IPv6 address, most significant byte first; IPv4 addresses in the mapped form.
    let bits: UInt128

    private static let mapped: UInt128 = 0xFFFF << 32

    init(bits: UInt128) {
        self.bits = bits
    }

    package init(ipv4: UInt32) {
        bits = Self.mapped | UInt128(ipv4)
    }

    package init(ipv6: UInt128) {
        bits = ipv6
    }

    /// Parses dotted decimal without leading zeros, or IPv6 text (RFC 4291 §2.2) without a zone.
    package init?(_ text: some StringProtocol) {
        // C strings end at a zero byte.
        guard (2...45).contains(text.utf8.count), !text.utf8.contains(0) else { return nil }
        let text = String(decoding: text.utf8, as: UTF8.self)
        var ipv4 = in_addr()
        if unsafe inet_pton(AF_INET, text, &ipv4) == 1 {
            self.init(ipv4: UInt32(bigEndian: ipv4.s_addr))
            return
        }
        var ipv6: UInt128 = 0
        guard unsafe inet_pton(AF_INET6, text, &ipv6) == 1 else { return nil }
        self.init(ipv6: UInt128(bigEndian: ipv6))
    }

    package var isIPv4: Bool { bits >> 32 == Self.mapped >> 32 }

    /// The address; for IPv6, the first address of its /64. One customer has a /64 and can change addresses within it
    /// at will (RFC 6177).
    package var ofCustomer: IPAddress { isIPv4 ? self : IPAddress(bits: (bits >> 64) << 64) }

    /// Dotted decimal, or IPv6 as RFC 5952 writes it.
    package var description: String {
        guard !isIPv4 else { return Self.dotted(UInt32(truncatingIfNeeded: bits)) }
        var ordered = bits.bigEndian
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            let capacity = socklen_t(buffer.count)
            guard let start = buffer.baseAddress, let text = unsafe inet_ntop(AF_INET6, &ordered, start, capacity)
            else { preconditionFailure("every address has a text") }
            return unsafe String(cString: text)
        }
    }

    /// Written digit by digit: each connection has its address as text, and interpolation took 1,700 instructions.
    private static func dotted(_ address: UInt32) -> String {
        unsafe String(unsafeUninitializedCapacity: 15) { text in
            var count = 0
            func write(_ byte: UInt8) {
                unsafe text[count] = byte
                count += 1
            }
            for shift in stride(from: 24, through: 0, by: -8) {
                let byte = UInt8(truncatingIfNeeded: address >> UInt32(shift))
                if byte >= 100 { write(0x30 + byte / 100) }
                if byte >= 10 { write(0x30 + byte / 10 % 10) }
                write(0x30 + byte % 10)
                if shift > 0 { write(UInt8(ascii: ".")) }
            }
            return count
        }
    }
}
