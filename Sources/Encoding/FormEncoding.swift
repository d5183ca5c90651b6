/// `name=value` pairs in the format of forms and queries, `application/x-www-form-urlencoded` (WHATWG URL, 5): `+` is a
/// space.
package enum FormEncoding {
    package static func encode(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 16 })
        for (name, value) in fields {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        let text = text.utf8.span
        var start = 0
        // Codes, states and tokens need no encoding.
        while start < text.count {
            var end = start
            while end < text.count, staysAsItIs(text[end]) { end += 1 }
            bytes.append(text.extracting(start..<end))
            if end < text.count {
                if text[end] == UInt8(ascii: " ") {
                    bytes.append(UInt8(ascii: "+"))
                } else {
                    bytes.append(percentEncoded: text[end])
                }
            }
            start = end + 1
        }
    }

    private static func staysAsItIs(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: byte.isASCIILetterOrDigit
        }
    }

    /// The decoded values of the pairs whose name, before decoding, is `name`; nil for a value with a malformed escape,
    /// and for one that isn't UTF-8.
    package static func values(of name: String, in text: String) -> [String?] {
        values(of: name, in: Array(text.utf8))
    }

    /// As ``values(of:in:)`` for bytes, so that a caller with several names converts the text once.
    package static func values(of name: String, in text: [UInt8]) -> [String?] {
        let (bytes, name) = (text.span, name.utf8.span)
        var values: [String?] = []
        var start = 0
        while start < bytes.count {
            let end = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) ?? bytes.count
            let value = start + name.count + 1
            if value <= end, bytes[value - 1] == UInt8(ascii: "="), bytes.matches(name, at: start) {
                values.append(decoded(text[value..<end]))
            }
            start = end + 1
        }
        return values
    }

    private static func decoded(_ text: ArraySlice<UInt8>) -> String? {
        let isEncoded = text.span.firstIndex {
            $0.bytes(equalTo: UInt8(ascii: "+")) | $0.bytes(equalTo: UInt8(ascii: "%"))
        }
        guard isEncoded != nil else { return String(validating: text, as: UTF8.self) }
        return PercentEncoding.decode(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
            .flatMap { String(validating: $0, as: UTF8.self) }
    }
}
