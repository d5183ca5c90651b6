internal import Encoding

/// A non-negative number of the SRP calculation, and the three ways in which Cognito's clients write one.
package struct SRPNumber: Sendable, Equatable {
    /// Most significant byte first, no zero in front; empty for zero.
    let bytes: [UInt8]

    /// Twice the group's size: no number that is sent comes near this.
    private static let longestText = 2048

    package init(_ bytes: [UInt8]) {
        self.bytes = Array(bytes.drop { $0 == 0 })
    }

    /// Reads hexadecimal digits of either case, also an odd count of them, as clients send `SRP_A` and `SALT`. Nil for
    /// anything else, and for what is too long to be such a number.
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

    /// Lower case, without zeros in front: an odd count of digits is possible. This is the form that is sent; readers
    /// disagree on zeros in front (some hash the text, others the number).
    package var hex: String {
        guard let first = bytes.first else { return "0" }
        let text = Hexadecimal.encode(bytes)
        return first < 0x10 ? String(text.dropFirst()) : text
    }

    /// The number as hashes take it: its minimal two's complement form, most significant byte first. A zero byte is in
    /// front if, and only if, the top bit is set.
    package var padded: [UInt8] {
        guard let first = bytes.first else { return [0] }
        return first >= 0x80 ? [0] + bytes : bytes
    }
}
