import Foundation

#if canImport(CryptoKit)
    import CryptoKit

    enum SHA256 {
        static func hash(_ bytes: [UInt8]) -> [UInt8] { Array(CryptoKit.SHA256.hash(data: bytes)) }
    }
#else
    /// SHA-256 (FIPS 180-4, section 6.2), where the system brings none: for nonces, and in tests.
    enum SHA256 {
        private static let constants: [UInt32] = primes(64).map { fraction(cbrt(Double($0))) }

        static func hash(_ bytes: [UInt8]) -> [UInt8] {
            var state = primes(8).map { fraction(Double($0).squareRoot()) }
            var message = bytes + [0x80]
            while message.count % 64 != 56 { message.append(0) }
            let bits = UInt64(bytes.count) * 8
            message += (0..<8).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) }
            for start in stride(from: 0, to: message.count, by: 64) { compress(message[start..<start + 64], &state) }
            return state.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (24 - 8 * $0)) } }
        }

        private static func compress(_ block: ArraySlice<UInt8>, _ state: inout [UInt32]) {
            var words = [UInt32](repeating: 0, count: 64)
            for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
            for index in 16..<64 {
                let (a, b) = (words[index - 15], words[index - 2])
                let s0 = rotated(a, 7) ^ rotated(a, 18) ^ (a >> 3)
                let s1 = rotated(b, 17) ^ rotated(b, 19) ^ (b >> 10)
                words[index] = words[index - 16] &+ s0 &+ words[index - 7] &+ s1
            }
            var v = state
            for index in 0..<64 {
                let s1 = rotated(v[4], 6) ^ rotated(v[4], 11) ^ rotated(v[4], 25)
                let first = v[7] &+ s1 &+ ((v[4] & v[5]) ^ (~v[4] & v[6])) &+ constants[index] &+ words[index]
                let s0 = rotated(v[0], 2) ^ rotated(v[0], 13) ^ rotated(v[0], 22)
                let second = s0 &+ ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]))
                v = [first &+ second, v[0], v[1], v[2], v[3] &+ first, v[4], v[5], v[6]]
            }
            for index in 0..<8 { state[index] = state[index] &+ v[index] }
        }

        private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

        /// The first 32 bits of a number's fraction.
        private static func fraction(_ number: Double) -> UInt32 { UInt32((number - number.rounded(.down)) * 0x1p32) }

        private static func primes(_ count: Int) -> [Int] {
            Array((2...).lazy.filter { number in (2..<number).allSatisfy { number % $0 != 0 } }.prefix(count))
        }
    }
#endif

extension SHA256 {
    /// The hash of a text's UTF-8, in lowercase.
    static func hexadecimal(_ text: String) -> String {
        hash(Array(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }
}
