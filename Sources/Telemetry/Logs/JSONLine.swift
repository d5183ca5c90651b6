internal import Encoding

/// Encoding of JSON directly into bytes. The output is also safe for terminals: control characters, including the C1
/// set, and characters that change the direction of text are escaped.
///
/// A busy gateway writes a line for each request. A field whose text needs no escaping, as nearly always, is therefore
/// written at once, after a single capacity check.
extension [UInt8] {
    /// Appends `,"key":"value"`. `key` needs no escaping.
    mutating func appendField(_ key: StaticString, _ value: String) {
        let text = value.utf8.span
        guard text.isPlainJSON else {
            appendKey(key)
            return appendQuoted(value)
        }
        append(addingCapacity: key.utf8CodeUnitCount + text.count + 6) { line in
            line.appendKey(key)
            line.append(UInt8(ascii: "\""))
            line.append(text)
            line.append(UInt8(ascii: "\""))
        }
    }

    /// Appends `,"key":value`. `key` needs no escaping.
    mutating func appendField(_ key: StaticString, _ value: Int64) {
        append(addingCapacity: key.utf8CodeUnitCount + 4 + OutputSpan<UInt8>.decimalRoom) { line in
            line.appendKey(key)
            line.append(decimal: value)
        }
    }

    /// Appends `,"key":"value"`. Neither needs escaping.
    mutating func appendField(_ key: StaticString, plain value: StaticString) {
        append(addingCapacity: key.utf8CodeUnitCount + value.utf8CodeUnitCount + 6) { line in
            line.appendKey(key)
            line.append(UInt8(ascii: "\""))
            line.append(value)
            line.append(UInt8(ascii: "\""))
        }
    }

    /// Appends `,"key":`. `key` needs no escaping.
    mutating func appendKey(_ key: StaticString) {
        append(addingCapacity: key.utf8CodeUnitCount + 4) { $0.appendKey(key) }
    }

    mutating func appendQuoted(_ value: String) {
        append(UInt8(ascii: "\""))
        let start = count
        append(contentsOf: value.utf8)
        escape(from: start)
        append(UInt8(ascii: "\""))
    }

    /// Appends text without surrounding quotes. Quotes in it are not escaped.
    mutating func appendEscaped(_ value: String) {
        for scalar in value.unicodeScalars {
            if scalar == "\"" { append(UInt8(ascii: "\"")) } else { appendEscaped(scalar) }
        }
    }

    /// Escapes the bytes from `start` to the end for a JSON string (RFC 8259, section 7). Invalid UTF-8 becomes U+FFFD.
    mutating func escape(from start: Int) {
        guard !span.extracting(droppingFirst: start).isPlainJSON else { return }
        let text = String(decoding: self[start...], as: UTF8.self)
        removeSubrange(start...)
        for scalar in text.unicodeScalars {
            appendEscaped(scalar)
        }
    }

    private mutating func appendEscaped(_ scalar: Unicode.Scalar) {
        switch scalar {
        case "\"": append(contentsOf: #"\""#.utf8)
        case "\\": append(contentsOf: #"\\"#.utf8)
        case "\n": append(contentsOf: #"\n"#.utf8)
        case "\r": append(contentsOf: #"\r"#.utf8)
        case "\t": append(contentsOf: #"\t"#.utf8)
        case "\0"..." ", "\u{7F}"..."\u{9F}", "\u{61C}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}",
            "\u{2066}"..."\u{2069}":
            guard scalar != " " else { return append(UInt8(ascii: " ")) }
            append(contentsOf: #"\u"#.utf8)
            append(contentsOf: Hexadecimal.encode(UInt16(truncatingIfNeeded: scalar.value)).utf8)
        default: append(contentsOf: String(scalar).utf8)
        }
    }
}

extension OutputSpan<UInt8> {
    /// Appends `,"key":`, which is four bytes longer than the key.
    fileprivate mutating func appendKey(_ key: StaticString) {
        // Single bytes are appended one by one: 600 instructions fewer per request line than with calls that copy two
        // bytes.
        append(UInt8(ascii: ","))
        append(UInt8(ascii: "\""))
        append(key)
        append(UInt8(ascii: "\""))
        append(UInt8(ascii: ":"))
    }

    /// The maximum number of bytes of a number.
    fileprivate static var decimalRoom: Int { 20 }

    fileprivate mutating func append(decimal number: Int64) {
        // The last digit first: the processor divides by the constant ten with a multiplication, but not by a variable.
        var digits = [20 of UInt8](repeating: UInt8(ascii: "-"))
        var (start, rest) = (20, number.magnitude)
        repeat {
            start &-= 1
            digits[start] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        append(digits.span.extracting((number < 0 ? start - 1 : start)...))
    }
}

extension Swift.Span<UInt8> {
    /// Whether all bytes are plain JSON. Checks eight bytes at a time; the last eight may overlap the previous ones.
    var isPlainJSON: Bool {
        guard count >= 8 else {
            for index in 0..<count where !self[index].isPlainJSON { return false }
            return true
        }
        var index = 0
        while true {
            let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            guard word.isPlainJSON else { return false }
            if index == count &- 8 { return true }
            index = Swift.min(index &+ 8, count &- 8)
        }
    }
}

extension UInt64 {
    /// Whether each of the eight bytes is plain JSON.
    fileprivate var isPlainJSON: Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // Sets the top bit of the lowest zero byte, and possibly of bytes above it.
        func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
        let controls = (self &- 0x20 * ones) & ~self
        let escaped = zeros(self ^ 0x22 * ones) | zeros(self ^ 0x5C * ones) | zeros(self ^ 0x7F * ones)
        return (controls | escaped | self) & (0x80 * ones) == 0
    }
}

extension UInt8 {
    /// Whether the byte is visible ASCII or a space, and needs no escaping in JSON.
    var isPlainJSON: Bool {
        (0x20...0x7E).contains(self) && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
