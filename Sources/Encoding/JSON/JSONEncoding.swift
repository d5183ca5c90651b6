extension JSON {
    /// The value as compact JSON in UTF-8. Control characters, `"` and `\` are escaped, everything else is unchanged.
    package func encoded() -> [UInt8] {
        var output: [UInt8] = []
        append(to: &output)
        return output
    }

    fileprivate func append(to output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let value): output.append(contentsOf: value.text.utf8)
        case .string(let value): Self.append(value, to: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object): object.append(to: &output)
        }
    }

    fileprivate static func append(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        let bytes = text.utf8.span
        var start = 0
        // Most strings need no escapes, and tokens are long.
        while start < bytes.count {
            let end = bytes.firstIndex(from: start) { $0.escapedJSONBytes } ?? bytes.count
            output.append(bytes.extracting(start..<end))
            if end < bytes.count { append(escapeOf: bytes[end], to: &output) }
            start = end + 1
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func append(escapeOf byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case 0x08: output.append(contentsOf: "\\b".utf8)
        case 0x09: output.append(contentsOf: "\\t".utf8)
        case 0x0a: output.append(contentsOf: "\\n".utf8)
        case 0x0c: output.append(contentsOf: "\\f".utf8)
        case 0x0d: output.append(contentsOf: "\\r".utf8)
        default:
            output.append(contentsOf: "\\u00".utf8)
            output.append(contentsOf: Hexadecimal.encode(byte).utf8)
        }
    }
}

extension JSONObject {
    /// The object as compact JSON in UTF-8.
    package func encoded() -> [UInt8] { JSON.object(self).encoded() }

    fileprivate func append(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        for (index, member) in enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSON.append(member.name, to: &output)
            output.append(UInt8(ascii: ":"))
            member.value.append(to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }
}

extension UInt64 {
    /// The highest bit is set in the first byte that must be escaped, and possibly in some bytes above it.
    fileprivate var escapedJSONBytes: UInt64 {
        bytes(below: 0x20) | bytes(equalTo: 0x7f) | bytes(equalTo: UInt8(ascii: "\""))
            | bytes(equalTo: UInt8(ascii: "\\"))
    }
}
