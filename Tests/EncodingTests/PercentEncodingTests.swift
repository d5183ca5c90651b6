import Encoding
import Testing

@Suite("Percent-encoding and forms")
struct PercentEncodingTests {
    static let texts = [
        ("", ""), ("a-b_c.d~9", "a-b_c.d~9"), ("a b", "a%20b"), ("ä", "%C3%A4"), ("100%", "100%25"),
        ("a+b/c", "a%2Bb%2Fc"),
        ("\0\u{7f}", "%00%7F"),
    ]

    @Test("Everything but the unreserved characters is escaped, and comes back", arguments: texts)
    func bothWays(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
        #expect(PercentEncoding.decode(encoded.lowercased()) == text.lowercased())
    }

    @Test(
        "An escape is two digits, and a sign is none (RFC 3986, 2.1)",
        arguments: ["%", "%4", "a%", "a%4", "%+A", "%-0", "%+0", "% 1", "%1 ", "%zz", "%0x", "%%41", "%１1"])
    func malformed(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
        #expect(FormEncoding.values(of: "a", in: "a=\(text)&b=1") == [nil])
    }

    @Test("Every byte has its escape, and every other pair of characters is none")
    func allEscapes() {
        for byte in UInt8.min...UInt8.max {
            var bytes: [UInt8] = []
            bytes.append(percentEncoded: byte)
            #expect(bytes.span.percentEncodedByte(at: 0) == byte)
        }
        let digits = Set("0123456789abcdefABCDEF".utf8)
        for high in UInt8.min...UInt8.max {
            for low in UInt8.min...UInt8.max {
                let isEscape = [UInt8(ascii: "%"), high, low].span.percentEncodedByte(at: 0) != nil
                if isEscape != (digits.contains(high) && digits.contains(low)) { Issue.record("%\(high) \(low)") }
            }
        }
    }

    @Test("Bytes that are no UTF-8 are no text", arguments: ["%FF", "%C3", "%ED%A0%80"])
    func notText(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
        #expect(FormEncoding.values(of: "a", in: "a=\(text)") == [nil])
    }

    @Test("A form's fields come back")
    func forms() {
        let fields = [("grant_type", "authorization_code"), ("code", "a+b c/ä&=%"), ("empty", "")]
        let form = String(decoding: FormEncoding.encode(fields), as: UTF8.self)
        #expect(form == "grant_type=authorization_code&code=a%2Bb+c%2F%C3%A4%26%3D%25&empty=")
        for (name, value) in fields { #expect(FormEncoding.values(of: name, in: form) == [value]) }
        #expect(FormEncoding.values(of: "a", in: "a=1&b=2&a=3&a") == ["1", "3"])
        #expect(FormEncoding.values(of: "c", in: form) == [])
    }
}
