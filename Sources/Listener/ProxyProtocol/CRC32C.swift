/// The Castagnoli checksum (RFC 4960, appendix B), computed bit by bit: it is needed once per connection, for a few
/// bytes.
enum CRC32C {
    private static let reversedPolynomial: UInt32 = 0x82F6_3B78

    static func checksum(of bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(UInt32.max) { remainder, byte in
            (0..<8).reduce(remainder ^ UInt32(byte)) { remainder, _ in
                remainder >> 1 ^ (remainder & 1 == 0 ? 0 : reversedPolynomial)
            }
        }
    }
}
