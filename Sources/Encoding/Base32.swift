/// Base 32 (RFC 4648, 6) without padding, the format of authenticator apps' keys.
package enum Base32 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount: UInt32 = 0
        for byte in bytes {
            bits = bits << 8 | UInt32(byte)
            bitCount += 8
            while bitCount >= 5 {
                bitCount -= 5
                text.append(alphabet[Int(bits >> bitCount & 31)])
            }
            bits &= 0xff
        }
        if bitCount > 0 { text.append(alphabet[Int(bits << (5 - bitCount) & 31)]) }
        return String(decoding: text, as: UTF8.self)
    }
}
