/// `name=value` pairs as queries and forms have them (WHATWG URL, 5.1: `+` is a space).
enum FormEncoding {
    /// The values of the pairs with this name, percent-decoded; nil for one that isn't UTF-8.
    static func values(of name: String, in text: Substring) -> [String?] {
        text.split(separator: "&").compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return parts.count == 2 && parts[0] == name ? .some(decoded(parts[1])) : nil
        }
    }

    private static func decoded(_ text: Substring) -> String? {
        var rest = Array(text.utf8)[...]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
                else { return nil }
                bytes.append(value)
                rest.removeFirst(2)
            case UInt8(ascii: "+"):
                bytes.append(UInt8(ascii: " "))
            default:
                bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
