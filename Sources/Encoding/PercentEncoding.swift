/// Percent-encoding (RFC 3986, 2.1).
package enum PercentEncoding {
    /// The text's UTF-8 with everything escaped but the unreserved characters (RFC 3986, 2.3).
    package static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIILetterOrDigit || "-._~".utf8.contains(byte) {
                encoded.append(byte)
            } else {
                encoded.append(percentEncoded: byte)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes a text; nil for a malformed escape, and if the bytes are not UTF-8.
    package static func decode(_ text: some StringProtocol) -> String? {
        decode(text.utf8).flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes a text into bytes; nil for a malformed escape.
    static func decode(_ text: some Sequence<UInt8>) -> [UInt8]? {
        let text = Array(text)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%") {
                guard let byte = text.span.percentEncodedByte(at: index) else { return nil }
                decoded.append(byte)
                index += 3
            } else {
                decoded.append(text[index])
                index += 1
            }
        }
        return decoded
    }
}

extension Span where Element == UInt8 {
    /// The byte of the escape at `index`, which is `%` and two hexadecimal digits (no sign); nil if there is none.
    @inlinable
    package func percentEncodedByte(at index: Int) -> UInt8? {
        guard index + 2 < count, self[index] == UInt8(ascii: "%"),
            let high = Hexadecimal.value(ofDigit: self[index + 1]),
            let low = Hexadecimal.value(ofDigit: self[index + 2])
        else { return nil }
        return high << 4 | low
    }
}

extension [UInt8] {
    /// Appends the escape of a byte, with upper-case digits (RFC 3986, 2.1).
    package mutating func append(percentEncoded byte: UInt8) {
        append(UInt8(ascii: "%"))
        append(Self.upperHexDigit(byte >> 4))
        append(Self.upperHexDigit(byte & 15))
    }

    private static func upperHexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
