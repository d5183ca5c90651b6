/// Numbers and strings.
extension JSONParser {
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// RFC 8259, 6: no leading zero, a digit on each side of the point and in the exponent.
    mutating func number() throws(JSONError) {
        let start = position
        _ = take("-")
        if !take("0") { try takeDigits() }
        if take(".") { try takeDigits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try takeDigits()
        }
        add(.number, from: start, to: position)
    }

    private mutating func takeDigits() throws(JSONError) {
        let start = position
        while position < bytes.count, Self.digits.contains(bytes[position]) { position += 1 }
        guard position > start else { throw error(.invalidNumber) }
    }

    /// RFC 8259, 7. `position` is at the opening quote.
    mutating func string() throws(JSONError) {
        let start = position + 1
        position = endOfPlainText(from: start)
        switch try peek() {
        case UInt8(ascii: "\""):
            add(.asciiText, from: start, to: position)
            position += 1
        case UInt8(ascii: "\\"), 0x80...: try otherText(from: start)
        default: throw error(.unexpectedByte)
        }
    }

    /// The position of the first byte that has a special meaning or isn't ASCII. Eight bytes are searched at once.
    private func endOfPlainText(from start: Int) -> Int {
        bytes.span.firstIndex(from: start) { $0.specialJSONBytes } ?? bytes.count
    }

    private func decoded(_ bytes: some Collection<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error(.invalidUTF8) }
        return text
    }

    /// The slower path for escapes and non-ASCII characters; the bytes before `position` are already checked.
    private mutating func otherText(from start: Int) throws(JSONError) {
        var text = Array(bytes[start..<position])
        while true {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""):
                add(decoded: try decoded(text))
                position += 1
                return
            case UInt8(ascii: "\\"):
                position += 1
                text.append(contentsOf: try escape())
            case 0..<0x20: throw error(.unexpectedByte)
            default:
                text.append(byte)
                position += 1
            }
        }
    }

    private mutating func escape() throws(JSONError) -> [UInt8] {
        let byte = try peek()
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0c]
        case UInt8(ascii: "n"): return [0x0a]
        case UInt8(ascii: "r"): return [0x0d]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(Character(try unicodeEscape())).utf8)
        default: throw error(.invalidEscape)
        }
    }

    /// One `\uXXXX`, or two for a surrogate pair. A lone surrogate is invalid.
    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let first = try fourHexDigits()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xdc00, take("\\"), take("u") else { throw error(.invalidEscape) }
        let second = try fourHexDigits()
        guard (0xdc00...0xdfff).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
        else { throw error(.invalidEscape) }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Hexadecimal.value(ofDigit: try peek()) else { throw error(.invalidEscape) }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}

extension UInt64 {
    /// The highest bit is set in the first byte that is a control character, `"`, `\` or not ASCII, and possibly in
    /// some bytes above it.
    fileprivate var specialJSONBytes: UInt64 {
        bytes(below: 0x20) | bytes(equalTo: UInt8(ascii: "\"")) | bytes(equalTo: UInt8(ascii: "\\"))
            | self & 0x8080_8080_8080_8080
    }
}
