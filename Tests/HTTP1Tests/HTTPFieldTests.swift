import HTTPTypes
import Testing

@testable import HTTP1

@Suite("Fields made from checked bytes")
struct HTTPFieldTests {
    /// The list's first name comes again at its end: setting the fields of a name must not move the others.
    @Test("Fields made from a list keep its order", arguments: [0, 1, 2, 70])
    func order(count: Int) throws {
        let names = try ["Accept", "X-One", "Cookie", "accept", "X-Two"].map { try #require(HTTPField.Name($0)) }
        let list = (0..<count).map { HTTPField(name: names[$0 % names.count], value: "\($0)") }
        #expect(Array(HTTPFields(list)) == list)
    }

    @Test(
        "A field has the bytes of its value",
        arguments: ["", "a", "text/html; q=0.9", "a\tb", "grün", "東京", String(repeating: "x", count: 127), token])
    func text(value: String) throws {
        try expectSame(Array(value.utf8))
    }

    @Test("Bytes that are no UTF-8 are not repaired", arguments: [[0xFF], [0x61, 0x80, 0x62], [0xC3, 0x28, 0xC3]])
    func bytes(value: [UInt8]) throws {
        try expectSame(value)
    }

    private static let token = String(repeating: "abcdefghij", count: 100)

    private func expectSame(_ value: [UInt8]) throws {
        let name = try #require(HTTPField.Name("X-Value"))
        let field = value.withUnsafeBytes { HTTPField(name: name, validValue: $0) }
        #expect(field.withUnsafeBytesOfValue { Array($0) } == value)
        #expect(field == HTTPField(name: name, lenientValue: value))
    }

    @Test("Field content has no control but HTAB and no DEL, wherever they are", arguments: 1...26)
    func fieldContent(length: Int) {
        var wrong: [(byte: UInt8, index: Int, other: UInt8)] = []
        for byte in UInt8.min...UInt8.max {
            let isContent = byte >= 0x20 && byte != 0x7F || byte == 0x09
            for other in [UInt8(0x20), 0x7E, 0x80, 0xFF] {
                for index in 0..<length {
                    var bytes = [UInt8](repeating: other, count: length)
                    bytes[index] = byte
                    let result = bytes.withUnsafeBytes { Grammar.isFieldContent($0) }
                    if result != isContent { wrong.append((byte, index, other)) }
                }
            }
        }
        #expect(wrong.isEmpty)
    }

    @Test("Bytes are equal only if each of them is", arguments: [0, 1, 7, 8, 31, 32, 33, 64, 100])
    func equality(count: Int) {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        #expect(areEqual(bytes, bytes))
        #expect(!areEqual(bytes, bytes + [0]))
        for index in bytes.indices {
            var other = bytes
            other[index] ^= 0x80
            #expect(!areEqual(bytes, other))
        }
    }

    private func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.withUnsafeBytes { one in other.withUnsafeBytes { RepeatedField.areEqual(one, $0) } }
    }
}
