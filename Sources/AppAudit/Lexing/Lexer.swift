/// Finds the comments and strings of source code.
///
/// It never fails: an unclosed comment or multi-line string ends with the file, and an unclosed single-line string with
/// its line.
struct Lexer {
    /// An interpolated expression in a string.
    private struct Interpolation {
        let string: OpenString
        /// The number of open brackets in the expression.
        var depth = 1
    }

    struct OpenString {
        let delimiter: Grammar.Delimiter
        let hashes: Int
        let isDocumentation: Bool
    }

    let bytes: [UInt8]
    let grammar: Grammar
    var place = 0
    var regions = Regions()
    private var interpolations: [Interpolation] = []
    /// The last non-space byte of code, which decides whether a slash is a division or begins a regular expression.
    var lastCode: UInt8?

    /// The maximum nesting of interpolations; deeper ones count as text of their string.
    private static let maximumDepth = 32

    static func regions(of bytes: [UInt8], _ language: Language) -> Regions {
        guard let grammar = Grammar.of(language) else { return Regions() }
        var lexer = Lexer(bytes: bytes, grammar: grammar)
        lexer.run()
        return lexer.regions
    }

    private init(bytes: [UInt8], grammar: Grammar) {
        self.bytes = bytes
        self.grammar = grammar
    }

    private mutating func run() {
        while place < bytes.count {
            if readComment() || readString() || readLiteral() { continue }
            let byte = bytes[place]
            place += 1
            if !isSpace(byte) { lastCode = byte }
            countBrackets(byte)
        }
    }

    private mutating func countBrackets(_ byte: UInt8) {
        guard let last = interpolations.indices.last else { return }
        switch byte {
        case UInt8(ascii: "("), UInt8(ascii: "{"): interpolations[last].depth += 1
        case UInt8(ascii: ")"), UInt8(ascii: "}"):
            interpolations[last].depth -= 1
            if interpolations[last].depth == 0 { readRest(of: interpolations.removeLast().string, from: place) }
        default: break
        }
    }

    private mutating func readString() -> Bool {
        var hashes = 0
        if grammar.strings.first?.isRawByHashes == true {
            while bytes.byte(at: place + hashes) == UInt8(ascii: "#") { hashes += 1 }
        }
        guard let delimiter = grammar.strings.first(where: { bytes.has($0.opening, at: place + hashes) }) else {
            guard hashes > 0 else { return false }
            // Skips all of them at once; otherwise each would be counted again.
            place += hashes
            lastCode = UInt8(ascii: "#")
            return true
        }
        // A prefix such as r counts only at the start of a word.
        if let first = delimiter.opening.first, isWord(first), place > 0, isWord(bytes[place - 1]) { return false }
        let string = OpenString(
            delimiter: delimiter, hashes: hashes,
            isDocumentation: delimiter.mayBeDocumentation && isStatement(at: place))
        let start = place
        place += hashes + delimiter.opening.count
        lastCode = UInt8(ascii: "\"")
        readRest(of: string, from: start)
        return true
    }

    /// Whether only spaces precede a position in its line, and no bracket or operator continues the previous line.
    private func isStatement(at place: Int) -> Bool {
        var index = place - 1
        while index >= 0, bytes[index] == 0x20 || bytes[index] == 0x09 { index -= 1 }
        guard index < 0 || bytes[index] == 0x0A || bytes[index] == 0x0D else { return false }
        guard let lastCode else { return true }
        return !"([{=,+%\\".utf8.contains(lastCode)
    }

    /// Reads a string up to its end or the next interpolation.
    private mutating func readRest(of string: OpenString, from start: Int) {
        let delimiter = string.delimiter
        let kind: RegionKind = string.isDocumentation ? .comment : .string
        while place < bytes.count {
            let byte = bytes[place]
            if byte == UInt8(ascii: "\n"), !delimiter.spansLines { break }
            if let end = closing(of: string) {
                place = end
                break
            }
            if let begin = interpolation(of: string) {
                if interpolations.count < Self.maximumDepth {
                    place = begin
                    regions.append(kind, start..<place)
                    interpolations.append(Interpolation(string: string))
                    return
                }
                place = begin
            } else if delimiter.escapes, byte == UInt8(ascii: "\\"), string.hashes == 0 {
                place += 2
            } else {
                place += 1
            }
        }
        place = min(place, bytes.count)
        regions.append(kind, start..<place)
    }

    private func closing(of string: OpenString) -> Int? {
        guard bytes.has(string.delimiter.closing, at: place) else { return nil }
        let end = place + string.delimiter.closing.count
        for index in 0..<string.hashes where bytes.byte(at: end + index) != UInt8(ascii: "#") { return nil }
        return end + string.hashes
    }

    /// The position after the beginning of an interpolation here; nil if there is none. In Swift, the string's hashes
    /// follow its backslash.
    private func interpolation(of string: OpenString) -> Int? {
        guard let text = string.delimiter.interpolation, let first = text.first, bytes[place] == first else {
            return nil
        }
        guard string.hashes > 0 else { return bytes.has(text, at: place) ? place + text.count : nil }
        for index in 0..<string.hashes where bytes.byte(at: place + 1 + index) != UInt8(ascii: "#") { return nil }
        let bracket = place + 1 + string.hashes
        return bytes.byte(at: bracket) == UInt8(ascii: "(") ? bracket + 1 : nil
    }
}
