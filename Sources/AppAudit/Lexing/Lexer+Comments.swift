extension Lexer {
    mutating func readComment() -> Bool {
        if let block = grammar.blockComment, bytes.has(block.opening, at: place) {
            readBlock(block.opening, block.closing)
            return true
        }
        guard beginsLineComment() else { return false }
        let start = place
        while place < bytes.count, bytes[place] != UInt8(ascii: "\n") { place += 1 }
        regions.append(.comment, start..<place)
        return true
    }

    private func beginsLineComment() -> Bool {
        guard grammar.lineComments.contains(where: { bytes.has($0, at: place) }) else { return false }
        if grammar.commentsStartLines {
            var index = place - 1
            while index >= 0, bytes[index] == 0x20 || bytes[index] == 0x09 { index -= 1 }
            return index < 0 || bytes[index] == UInt8(ascii: "\n")
        }
        return !grammar.commentsNeedSpace || place == 0 || isSpace(bytes[place - 1])
    }

    private mutating func readBlock(_ opening: [UInt8], _ closing: [UInt8]) {
        let start = place
        place += opening.count
        var depth = 1
        while place < bytes.count, depth > 0 {
            if bytes.has(closing, at: place) {
                depth -= 1
                place += closing.count
            } else if grammar.blockCommentsNest, bytes.has(opening, at: place) {
                depth += 1
                place += opening.count
            } else {
                place += 1
            }
        }
        regions.append(.comment, start..<place)
    }

    /// Skips a character literal or a regular expression, whose quotes begin no string.
    mutating func readLiteral() -> Bool {
        let byte = bytes[place]
        if grammar.hasCharacterLiterals, byte == UInt8(ascii: "'") {
            pass(until: UInt8(ascii: "'"), atMost: 12)
            return true
        }
        if grammar.hasRegularExpressions, byte == UInt8(ascii: "/"), slashBeginsExpression {
            pass(until: UInt8(ascii: "/"), atMost: 2000)
            return true
        }
        return false
    }

    /// Whether a slash here begins a regular expression. After a value it is a division.
    private var slashBeginsExpression: Bool {
        guard let lastCode else { return true }
        return "(,=:[!&|?{};+-*%<>~^".utf8.contains(lastCode) || isKeyword
    }

    /// Whether the preceding word is `return`, which an expression follows.
    private var isKeyword: Bool {
        var end = place
        while end > 0, isSpace(bytes[end - 1]) { end -= 1 }
        let word = Array("return".utf8)
        return bytes.has(word, at: end - word.count)
    }

    /// Skips to after the closing byte, or only this byte if none closes it on the line.
    private mutating func pass(until closing: UInt8, atMost count: Int) {
        var index = place + 1
        let limit = min(bytes.count, place + count)
        var isInClass = false
        while index < limit, bytes[index] != UInt8(ascii: "\n") {
            switch bytes[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "["): isInClass = closing == UInt8(ascii: "/")
            case UInt8(ascii: "]"): isInClass = false
            case closing where !isInClass:
                lastCode = closing
                place = index + 1
                return
            default: break
            }
            index += 1
        }
        lastCode = bytes[place]
        place += 1
    }
}
