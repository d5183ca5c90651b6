internal import NIOCore
internal import Pipeline

/// Version 2, binary (§2.2): 16 fixed bytes, addresses, and type-length-value triples.
enum ProxyHeaderV2 {
    static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0x00, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]
    private static let fixedLength = 16
    private static let local: UInt8 = 0x20
    private static let proxy: UInt8 = 0x21

    /// - Returns: the header and the index after it; nil while it is incomplete.
    static func read(_ bytes: ByteBufferView) throws(ProxyHeaderFault) -> (ProxyHeader, end: Int)? {
        guard bytes.prefix(signature.count).elementsEqual(signature.prefix(bytes.count)) else { throw .absent }
        let fixed = Array(bytes.prefix(fixedLength))
        // The length of an unknown version or command is not reliable.
        if fixed.count > signature.count {
            guard [local, proxy].contains(fixed[signature.count]) else { throw .malformed }
        }
        guard fixed.count == fixedLength else { return nil }
        let length = fixedLength + Int(fixed[14]) << 8 + Int(fixed[15])
        guard length <= ProxyHeader.maximumLength else { throw .tooLong }
        guard bytes.count >= length else { return nil }
        let end = bytes.startIndex + length
        // The address family and addresses in the header of the proxy's own connection are ignored.
        guard fixed[12] == proxy else { return (.peer, end) }
        return (try header(Array(bytes.prefix(length))), end)
    }

    private static func header(_ bytes: [UInt8]) throws(ProxyHeaderFault) -> ProxyHeader {
        let (family, transport) = (bytes[13] >> 4, bytes[13] & 0xF)
        guard transport <= 2, let addresses = addressesLength(family) else { throw .malformed }
        // After an unspecified family, the bytes are unspecified as well.
        guard family != 0 else { return .peer }
        guard bytes.count >= fixedLength + addresses else { throw .malformed }
        try checkValues(bytes, from: fixedLength + addresses)
        // Only a TCP stream with IP addresses can have been forwarded here.
        guard transport == 1, family != 3 else { return .peer }
        let source = bytes[fixedLength...].prefix(family == 1 ? 4 : 16).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        return .client(family == 1 ? IPAddress(ipv4: UInt32(truncatingIfNeeded: source)) : IPAddress(ipv6: source))
    }

    /// Returns the length in bytes of both addresses with their ports; nil for an unknown family.
    private static func addressesLength(_ family: UInt8) -> Int? {
        switch family {
        case 0: 0
        case 1: 12
        case 2: 36
        case 3: 216
        default: nil
        }
    }

    private static let checksumType: UInt8 = 0x03

    /// Skips the triples, and verifies the checksum if there is one (§2.2.3).
    private static func checkValues(_ bytes: [UInt8], from start: Int) throws(ProxyHeaderFault) {
        var position = start
        while position < bytes.count {
            guard position + 3 <= bytes.count else { throw .malformed }
            let length = Int(bytes[position + 1]) << 8 + Int(bytes[position + 2])
            let value = position + 3..<position + 3 + length
            guard value.upperBound <= bytes.count else { throw .malformed }
            if bytes[position] == checksumType { try checkChecksum(of: bytes, at: value) }
            position = value.upperBound
        }
    }

    private static func checkChecksum(of bytes: [UInt8], at place: Range<Int>) throws(ProxyHeaderFault) {
        guard place.count == 4 else { throw .malformed }
        let expected = bytes[place].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        var zeroed = bytes
        zeroed.replaceSubrange(place, with: [0, 0, 0, 0])
        guard CRC32C.checksum(of: zeroed) == expected else { throw .checksum }
    }
}
