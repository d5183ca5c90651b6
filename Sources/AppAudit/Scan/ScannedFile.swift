/// A file's bytes with the data that the rules need.
struct ScannedFile {
    let bytes: [UInt8]
    let language: Language
    let role: FileRole
    let isPacked: Bool
    let regions: Regions
    /// The positions of line feeds; empty for binaries, which have no lines.
    private let lineFeeds: [Int]

    init(_ content: Content, role: FileRole) {
        (bytes, language, isPacked) = (content.bytes, content.language, content.isPacked)
        self.role = role
        regions = Lexer.regions(of: bytes, language)
        lineFeeds =
            language == .binary
            ? [] : content.bytes.indices.filter { content.bytes[$0] == UInt8(ascii: "\n") }
    }

    /// Whether the byte before a string in a binary is the string's length, as in DEX, class files and Android
    /// resources. Such a byte may look like a letter.
    func isLength(_ byte: UInt8, _ range: Range<Int>) -> Bool {
        guard language == .binary else { return false }
        var end = range.upperBound
        while end < bytes.count, end - range.lowerBound < 1024, bytes[end] != 0 { end += 1 }
        return byte == UInt8(truncatingIfNeeded: end - range.lowerBound)
    }

    /// The line number, from 1; nil for binaries.
    func line(of place: Int) -> Int? { language == .binary ? nil : lineIndex(of: place) + 1 }

    /// The column, from 1 in bytes; nil for binaries.
    func column(of place: Int) -> Int? {
        guard language != .binary else { return nil }
        let index = lineIndex(of: place)
        return place - (index == 0 ? -1 : lineFeeds[index - 1])
    }

    /// The line at a position, without line feed; at most 4096 bytes around the position.
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
