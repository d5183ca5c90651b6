/// Encoding of text lines for people: ` name=value`, with quotes if the end of the value would be ambiguous.
extension [UInt8] {
    mutating func appendTextField(_ name: String, _ value: String) {
        append(UInt8(ascii: " "))
        appendEscaped(name)
        append(UInt8(ascii: "="))
        let isBare = !value.isEmpty && value.utf8.allSatisfy { $0.isPlainJSON && $0 != UInt8(ascii: " ") }
        if isBare { append(contentsOf: value.utf8) } else { appendQuoted(value) }
    }

    mutating func appendTextField(_ name: String, _ value: Int64) {
        appendTextField(name, String(value))
    }

    /// Appends a duration in a readable unit: `850us`, `12.3ms`, `4.5s`.
    mutating func appendDuration(microseconds: Int64) {
        let text =
            switch microseconds {
            case ..<1000: "\(microseconds)us"
            case ..<1_000_000: "\(microseconds / 1000).\(microseconds % 1000 / 100)ms"
            default: "\(microseconds / 1_000_000).\(microseconds % 1_000_000 / 100_000)s"
            }
        append(contentsOf: text.utf8)
    }
}
