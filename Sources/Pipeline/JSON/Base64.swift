/// Base64 with the URL-safe alphabet, without padding (RFC 4648, 5; RFC 7515, 2).
package enum Base64URL {
    private static let coding = Base64Coding(characters62And63: "-_")

    package static func encode(_ bytes: [UInt8]) -> String {
        coding.encode(bytes)
    }

    /// The bytes of `text`, or nil if it holds anything but the alphabet (padding and white space too), has a length no
    /// encoder makes, or ends in bits that aren't zero: each byte string has exactly one spelling.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        coding.decode(Array(text)[...])
    }
}

/// Base64 with the ordinary alphabet and padding (RFC 4648, 4).
package enum Base64 {
    private static let coding = Base64Coding(characters62And63: "+/")

    package static func encode(_ bytes: [UInt8]) -> String {
        let text = coding.encode(bytes)
        return text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    }

    /// The bytes of `text`, or nil unless it is exactly what ``encode(_:)`` makes of some bytes.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        let text = Array(text)
        guard text.count.isMultiple(of: 4) else { return nil }
        let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        return coding.decode(text.dropLast(padding))
    }
}

/// One alphabet in both directions, without padding.
private struct Base64Coding: Sendable {
    private static let invalid: UInt8 = 0xff
    private let alphabet: [UInt8]
    private let values: [UInt8]

    init(characters62And63: String) {
        alphabet = Array(("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" + characters62And63).utf8)
        var values = [UInt8](repeating: Self.invalid, count: 256)
        for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        self.values = values
    }

    func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var bits = 0
        var bitCount = 0
        for byte in bytes {
            bits = (bits << 8 | Int(byte)) & 0xffff
            bitCount += 8
            while bitCount >= 6 {
                bitCount -= 6
                text.append(alphabet[bits >> bitCount & 63])
            }
        }
        if bitCount > 0 { text.append(alphabet[bits << (6 - bitCount) & 63]) }
        return String(decoding: text, as: UTF8.self)
    }

    func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var bits = 0
        var bitCount = 0
        for character in text {
            let value = values[Int(character)]
            guard value != Self.invalid else { return nil }
            bits = (bits << 6 | Int(value)) & 0xffff
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
            }
        }
        // Six bits over would be a character that says nothing; other bits over must be zero (RFC 4648, 3.5).
        guard bitCount < 6, bits & (1 << bitCount - 1) == 0 else { return nil }
        return bytes
    }
}
