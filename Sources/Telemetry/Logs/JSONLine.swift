/// Writing of JSON straight into bytes. What is written is safe for a terminal as well: control characters, also those
/// of the C1 set, and characters that turn the direction of text are escaped.
extension [UInt8] {
    /// Appends `,"key":`. `key` needs no escaping.
    mutating func appendKey(_ key: String) {
        append(contentsOf: ",\"".utf8)
        append(contentsOf: key.utf8)
        append(contentsOf: "\":".utf8)
    }

    mutating func appendField(_ key: String, _ value: String) {
        appendKey(key)
        appendQuoted(value)
    }

    mutating func appendQuoted(_ value: String) {
        append(UInt8(ascii: "\""))
        let start = count
        append(contentsOf: value.utf8)
        escape(from: start)
        append(UInt8(ascii: "\""))
    }

    /// Appends text without quotes around it, in which quotes stay as they are.
    mutating func appendEscaped(_ value: String) {
        for scalar in value.unicodeScalars {
            if scalar == "\"" { append(UInt8(ascii: "\"")) } else { appendEscaped(scalar) }
        }
    }

    mutating func appendField(_ key: String, _ value: Int64) {
        appendKey(key)
        append(contentsOf: String(value).utf8)
    }

    /// Makes what stands from `start` to the end the inside of a JSON string (RFC 8259, section 7). Bytes that are not
    /// UTF-8 become U+FFFD. Nearly all text needs no change, and is only looked at.
    mutating func escape(from start: Int) {
        guard !self[start...].allSatisfy(\.isPlainJSON) else { return }
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
        case "\0"..." ", "\u{7F}"..."\u{9F}", "\u{200E}", "\u{200F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}":
            guard scalar != " " else { return append(UInt8(ascii: " ")) }
            let digits = String(scalar.value, radix: 16)
            append(contentsOf: #"\u"#.utf8)
            append(contentsOf: repeatElement(UInt8(ascii: "0"), count: 4 - digits.utf8.count))
            append(contentsOf: digits.utf8)
        default: append(contentsOf: String(scalar).utf8)
        }
    }
}

extension UInt8 {
    /// Visible ASCII and space, except what JSON escapes.
    var isPlainJSON: Bool {
        (0x20...0x7E).contains(self) && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\")
    }
}
