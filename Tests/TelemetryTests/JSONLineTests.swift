import Encoding
import Foundation
import Testing

@testable import Telemetry

@Suite("Fields of a JSON line")
struct JSONLineTests {
    /// The fields as a reader of the log sees them.
    static func read(_ fields: (inout [UInt8]) -> Void) throws -> [String: Any] {
        var line = Array(#"{"first":0"#.utf8)
        fields(&line)
        line.append(UInt8(ascii: "}"))
        return try #require(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
    }

    @Test(
        "A text of any length is read back, with what must be escaped at any place of it",
        arguments: ["", "\"", "\\", "\n", "\0", "\u{1F}", " ", "~", "\u{7F}", "\u{85}", "é", "\u{202E}", "🙂"])
    func texts(special: String) throws {
        for length in 0..<50 {
            for place in 0...length {
                let after = String(repeating: "y", count: length - place)
                let text = String(repeating: "x", count: place) + special + after
                let read = try Self.read { $0.appendField("key", text) }
                #expect(read["key"] as? String == text)
            }
        }
    }

    @Test(
        "A number is written in decimal digits",
        arguments: [0, 1, 9, 10, 11, 99, 100, 1_000_000_007, -1, -10, .max, .min] as [Int64])
    func numbers(number: Int64) throws {
        var line: [UInt8] = []
        line.appendField("n", number)
        #expect(String(decoding: line, as: UTF8.self) == ",\"n\":\(number)")
    }

    @Test("What needs no escaping is told from what does")
    func plain() {
        for byte in UInt8.min...UInt8.max {
            let expected = (0x20...0x7E).contains(byte) && byte != 0x22 && byte != 0x5C
            #expect(byte.isPlainJSON == expected)
            for length in [1, 15, 16, 17, 40] {
                for place in 0..<length {
                    var bytes = [UInt8](repeating: 0x61, count: length)
                    bytes[place] = byte
                    #expect(bytes.span.isPlainJSON == expected)
                }
            }
        }
    }
}
