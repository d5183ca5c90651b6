/// Checks of single bytes, and of bytes at a position.

func lowercased(_ byte: UInt8) -> UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
}

func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

func isLowercase(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLowercase(byte | 0x20) }

/// Whether a byte belongs to an identifier. All non-ASCII bytes do.
func isWord(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte >= 0x80 }

func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

extension [UInt8] {
    /// The byte at a position; nil if it is out of bounds.
    func byte(at place: Int) -> UInt8? { indices.contains(place) ? self[place] : nil }

    func has(_ text: [UInt8], at place: Int) -> Bool {
        guard place >= 0, count - place >= text.count else { return false }
        for (index, byte) in text.enumerated() where self[place + index] != byte { return false }
        return true
    }

    /// Like ``has(_:at:)``, ignoring case; `text` must be in lower case.
    func hasFolded(_ text: [UInt8], at place: Int) -> Bool {
        guard place >= 0, count - place >= text.count else { return false }
        for (index, byte) in text.enumerated() where lowercased(self[place + index]) != byte { return false }
        return true
    }

    /// The first position of a text in a range; nil if there is none.
    func firstPlace(of text: [UInt8], in range: Range<Int>) -> Int? {
        guard let first = text.first, text.count <= range.count else { return nil }
        for place in range.lowerBound...(range.upperBound - text.count)
        where self[place] == first && has(text, at: place) {
            return place
        }
        return nil
    }

    /// Whether a range contains a text, ignoring case; `text` must be in lower case.
    func containsFolded(_ text: [UInt8], in range: Range<Int>) -> Bool {
        guard text.count <= range.count else { return false }
        return (range.lowerBound...(range.upperBound - text.count)).contains { hasFolded(text, at: $0) }
    }
}
