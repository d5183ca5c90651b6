internal import Encoding

/// A non-negative number of the SRP calculation, and the three ways in which Cognito's clients write one.
package struct SRPNumber: Sendable, Equatable {
    /// Most significant byte first, without leading zeros; empty for zero.
    let bytes: [UInt8]

    /// The maximum number of digits. A number of the group has at most 768, so no number that is sent comes near this.
    private static let longestText = 2048

    package init(_ bytes: [UInt8]) {
        self.bytes = Array(bytes.drop { $0 == 0 })
    }

    /// Parses hexadecimal digits of either case, also an odd number of them, as clients send `SRP_A` and `SALT`. Nil
    /// for anything else, and for a text that is too long.
    package init?(hex text: some StringProtocol) {
        let text = text.utf8
        guard !text.isEmpty, text.count <= Self.longestText else { return nil }
        var bytes: [UInt8] = []
        var high: UInt8? = text.count.isMultiple(of: 2) ? nil : 0
        for character in text {
            guard let digit = Hexadecimal.value(ofDigit: character) else { return nil }
            if let upper = high {
                bytes.append(upper << 4 | digit)
                high = nil
            } else {
                high = digit
            }
        }
        self.init(bytes)
    }

    var isZero: Bool { bytes.isEmpty }

    /// Lower case, without leading zeros, so the number of digits can be odd. This is the form that is sent; readers
    /// disagree on leading zeros (some hash the text, others the number).
    package var hex: String {
        guard let first = bytes.first else { return "0" }
        let text = Hexadecimal.encode(bytes)
        return first < 0x10 ? String(text.dropFirst()) : text
    }

    /// The number in the form that is hashed: its minimal two's complement, most significant byte first. It begins with
    /// a zero byte if, and only if, the top bit is set.
    package var padded: [UInt8] {
        guard let first = bytes.first else { return [0] }
        return first >= 0x80 ? [0] + bytes : bytes
    }
}
