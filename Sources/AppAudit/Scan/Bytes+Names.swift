/// Checks of the bytes around a hit: names, calls and hosts.
extension [UInt8] {
    func nextVisible(from place: Int) -> (byte: UInt8, place: Int)? {
        var index = place
        while index < count, index - place < 200 {
            if !isSpace(self[index]) { return (self[index], index) }
            index += 1
        }
        return nil
    }

    /// The identifier that begins here; nil if there is none.
    func identifier(from place: Int) -> Range<Int>? {
        guard let first = byte(at: place), isWord(first), !isDigit(first) else { return nil }
        return place..<endOfWord(from: place)
    }

    func endOfWord(from place: Int) -> Int {
        var end = place
        while end < count, end - place < 200, isWord(self[end]) { end += 1 }
        return end
    }

    /// The name of the next member, also on the next line; nil if there is none.
    func memberName(from place: Int) -> Range<Int>? {
        if let name = identifier(from: place) { return name }
        guard let dot = nextVisible(from: place), dot.byte == UInt8(ascii: "."),
            let next = nextVisible(from: dot.place + 1)
        else { return nil }
        return identifier(from: next.place)
    }

    /// The end of an operation's name with the suffix of a type; nil for a longer word.
    func endOfOperation(_ range: Range<Int>) -> Int? {
        let end = endOfWord(from: range.upperBound)
        let ending = String(decoding: self[range.upperBound..<end], as: UTF8.self)
        let endings = [
            "", "Command", "CommandInput", "CommandOutput", "Input", "Output", "OutputResponse", "Request", "Response",
            "Result", "Async",
        ]
        return endings.contains(ending) ? end : nil
    }

    private static var fileEndings: [[UInt8]] {
        ["json", "png", "svg", "pdf", "md", "txt", "yaml", "yml", "xml", "html"].map { Array($0.utf8) }
    }

    /// Whether a host name continues after the range: with a region, or an expression for it.
    func isHost(_ range: Range<Int>) -> Bool {
        guard let next = byte(at: range.upperBound), !isSpace(next) else { return false }
        let end = endOfWord(from: range.upperBound)
        let word = Array(self[range.upperBound..<end])
        return !Self.fileEndings.contains(word) || byte(at: end) == UInt8(ascii: ".")
    }

    /// The host around a range: letters, digits, dots and hyphens.
    func hostRange(around range: Range<Int>) -> Range<Int> {
        func isHostByte(_ byte: UInt8) -> Bool {
            isAlphanumeric(byte) || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
        }
        var (start, end) = (range.lowerBound, range.upperBound)
        while start > 0, range.lowerBound - start < 100, isHostByte(self[start - 1]) { start -= 1 }
        while end < count, end - range.upperBound < 100, isHostByte(self[end]) { end += 1 }
        return start..<end
    }

    /// Whether quotes enclose exactly this range.
    func isQuoted(_ range: Range<Int>) -> Bool {
        guard let before = byte(at: range.lowerBound - 1), let after = byte(at: range.upperBound) else { return false }
        return before == after && "\"'`".utf8.contains(before)
    }

    /// Whether a function of this name is declared here, not called.
    func isDeclared(_ range: Range<Int>) -> Bool {
        var end = range.lowerBound
        while end > 0, range.lowerBound - end < 20, self[end - 1] == 0x20 { end -= 1 }
        return ["func", "fun", "function", "def"].contains { keyword in
            has(Array(keyword.utf8), at: end - keyword.utf8.count) && end < range.lowerBound
                && !(byte(at: end - keyword.utf8.count - 1).map(isWord) ?? false)
        }
    }

    func hasWord(_ word: [UInt8], in range: Range<Int>) -> Bool {
        range.contains { place in
            has(word, at: place) && !(byte(at: place - 1).map(isWord) ?? false)
                && !(byte(at: place + word.count).map(isWord) ?? false)
        }
    }

    /// Whether the range is the name of a package, not part of a longer name. A subpackage or version may follow.
    func isPackage(_ range: Range<Int>, in file: ScannedFile) -> Bool {
        if let after = byte(at: range.upperBound), isWord(after) || after == UInt8(ascii: "-") { return false }
        guard let before = byte(at: range.lowerBound - 1) else { return true }
        // A name in a path of the same project, such as ./aws-amplify/auth, does not count.
        if before == UInt8(ascii: "/"), !file.role.isManifest { return false }
        // Nor does an owner of packages: @aws-amplify/storage, github.com/aws-amplify/amplify-swift.
        if before == UInt8(ascii: "@") || before == UInt8(ascii: "/") && byte(at: range.upperBound) == before {
            return false
        }
        return !isWord(before) && before != UInt8(ascii: "-") && before != UInt8(ascii: ".")
    }

    /// The property list key around the range, if it begins with the range, optionally after AWS; otherwise nil.
    func plistKey(around range: Range<Int>) -> Range<Int>? {
        let tag = Array("<key>".utf8)
        var start = range.lowerBound
        if has(Array("AWS".utf8), at: start - 3) { start -= 3 }
        guard has(tag, at: start - tag.count) else { return nil }
        var end = start
        while end < count, end - start < 200, self[end] != UInt8(ascii: "<") { end += 1 }
        return start..<end
    }
}
