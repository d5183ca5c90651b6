/// A file's bytes with everything that the rules need to know about it.
struct ScannedFile {
    let bytes: [UInt8]
    let language: Language
    let role: FileRole
    let isPacked: Bool
    let regions: Regions
    /// The places of line feeds. Empty in binaries, which have no lines.
    private let lineFeeds: [Int]

    init(_ content: Content, role: FileRole) {
        (bytes, language, isPacked) = (content.bytes, content.language, content.isPacked)
        self.role = role
        regions = Lexer.regions(of: bytes, language)
        lineFeeds =
            language == .binary
            ? [] : content.bytes.indices.filter { content.bytes[$0] == UInt8(ascii: "\n") }
    }

    /// Whether a byte before a string in a binary is its length, as in DEX, class files and Android's resources. Such a
    /// byte may look like a letter.
    func isLength(_ byte: UInt8, _ range: Range<Int>) -> Bool {
        guard language == .binary else { return false }
        var end = range.upperBound
        while end < bytes.count, end - range.lowerBound < 1024, bytes[end] != 0 { end += 1 }
        return byte == UInt8(truncatingIfNeeded: end - range.lowerBound)
    }

    /// Counted from 1; nil in binaries.
    func line(of place: Int) -> Int? { language == .binary ? nil : lineIndex(of: place) + 1 }

    /// Counted from 1, in bytes.
    func column(of place: Int) -> Int? {
        guard language != .binary else { return nil }
        let index = lineIndex(of: place)
        return place - (index == 0 ? -1 : lineFeeds[index - 1])
    }

    /// The line of a place without its line feed; at most 4096 bytes around the place.
    func lineRange(of place: Int) -> Range<Int> {
        var (start, end) = (place, place)
        while start > 0, place - start < 2048, !isLineEnd(bytes[start - 1]) { start -= 1 }
        while end < bytes.count, end - place < 2048, !isLineEnd(bytes[end]) { end += 1 }
        return start..<end
    }

    private func isLineEnd(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D || language == .binary && byte == 0 }

    private func lineIndex(of place: Int) -> Int {
        var (low, high) = (0, lineFeeds.count)
        while low < high {
            let middle = (low + high) / 2
            if lineFeeds[middle] < place { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
