/// `name=value` pairs as forms and queries have them, `application/x-www-form-urlencoded` (WHATWG URL, 5): `+` is a
/// space.
package enum FormEncoding {
    package static func encode(_ fields: [(String, String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for (name, value) in fields {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: "&")) }
            append(name, to: &bytes)
            bytes.append(UInt8(ascii: "="))
            append(value, to: &bytes)
        }
        return bytes
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: " "): bytes.append(UInt8(ascii: "+"))
            case UInt8(ascii: "*"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): bytes.append(byte)
            case _ where byte.isASCIILetterOrDigit: bytes.append(byte)
            default: bytes.append(percentEncoded: byte)
            }
        }
    }

    /// The decoded values of the pairs that are named `name` as it is written; nil for a value with a malformed escape,
    /// and for one that isn't UTF-8.
    package static func values(of name: String, in text: some StringProtocol) -> [String?] {
        text.utf8.split(separator: UInt8(ascii: "&")).compactMap { pair in
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0].elementsEqual(name.utf8) ? .some(decoded(parts[1])) : nil
        }
    }

    private static func decoded(_ text: some Sequence<UInt8>) -> String? {
        PercentEncoding.decode(text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
            .flatMap { String(validating: $0, as: UTF8.self) }
    }
}
