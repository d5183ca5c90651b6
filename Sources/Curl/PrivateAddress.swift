/// Addresses that are not globally reachable: those of this machine, its link and its network, and reserved ones (IANA
/// special-purpose registries, RFC 6890). Clouds serve their machines' credentials at one of them, 169.254.169.254.
enum PrivateAddress {
    private static let version4: [(prefix: [UInt8], bits: Int)] = [
        ([0], 8), ([10], 8), ([100, 64], 10), ([127], 8), ([169, 254], 16), ([172, 16], 12), ([192, 0, 0], 24),
        ([192, 168], 16), ([198, 18], 15), ([224], 4), ([240], 4),
    ]
    /// Unspecified, loopback and IPv4-compatible (RFC 4291, section 2.5.5.1); local-use NAT64 (RFC 8215); unique local;
    /// link-local; site-local; multicast.
    private static let version6: [(prefix: [UInt8], bits: Int)] = [
        ([UInt8](repeating: 0, count: 12), 96), ([0x00, 0x64, 0xff, 0x9b, 0x00, 0x01], 48), ([0xfc], 7),
        ([0xfe, 0x80], 10), ([0xfe, 0xc0], 10), ([0xff], 8),
    ]
    /// The prefixes that are followed by an IPv4 address: mapped, NAT64 (RFC 6052), 6to4 (RFC 3056).
    private static let carriers: [[UInt8]] = [
        [UInt8](repeating: 0, count: 10) + [0xff, 0xff], [0x00, 0x64, 0xff, 0x9b] + [UInt8](repeating: 0, count: 8),
        [0x20, 0x02],
    ]

    /// Returns whether these 4 or 16 bytes are a private address. Any other number of bytes counts as private.
    static func contains(_ address: some Collection<UInt8>) -> Bool {
        let address = Array(address)
        switch address.count {
        case 4: return version4.contains { matches(address, $0.prefix, $0.bits) }
        case 16:
            if version6.contains(where: { matches(address, $0.prefix, $0.bits) }) { return true }
            guard let carrier = carriers.first(where: { address.starts(with: $0) }) else { return false }
            return contains(address[carrier.count..<(carrier.count + 4)])
        default: return true
        }
    }

    private static func matches(_ address: [UInt8], _ prefix: [UInt8], _ bits: Int) -> Bool {
        let whole = bits / 8
        guard address.starts(with: prefix.prefix(whole)) else { return false }
        let rest = 8 - bits % 8
        return rest == 8 || address[whole] >> rest == prefix[whole] >> rest
    }
}
