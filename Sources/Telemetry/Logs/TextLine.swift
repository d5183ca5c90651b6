/// Writing of lines for people: ` name=value`, quoted where that is needed to tell where a value ends.
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

    /// Microseconds as people read them: `850us`, `12.3ms`, `4.56s`.
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
