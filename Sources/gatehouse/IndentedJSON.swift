import Encoding

extension JSON {
    /// The value as indented JSON in visible ASCII and spaces only, so that contents of tokens can't move the cursor or
    /// change the direction of text.
    func indented(by depth: Int = 0) -> String {
        let (inner, outer) = (String(repeating: "  ", count: depth + 1), String(repeating: "  ", count: depth))
        switch self {
        case .object(let object) where !object.isEmpty:
            let members = object.map { "\(inner)\(JSON.string($0.name).ascii): \($0.value.indented(by: depth + 1))" }
            return "{\n\(members.joined(separator: ",\n"))\n\(outer)}"
        case .array(let elements) where !elements.isEmpty:
            let elements = elements.map { inner + $0.indented(by: depth + 1) }
            return "[\n\(elements.joined(separator: ",\n"))\n\(outer)]"
        default: return ascii
        }
    }

    /// Compact JSON in which everything except visible ASCII and spaces is escaped.
    private var ascii: String {
        var text = ""
        for unit in String(decoding: encoded(), as: UTF8.self).utf16 {
            if (0x20..<0x7F).contains(unit) {
                text.unicodeScalars.append(Unicode.Scalar(UInt8(unit)))
            } else {
                text += "\\u" + Hexadecimal.encode(unit)
            }
        }
        return text
    }
}
