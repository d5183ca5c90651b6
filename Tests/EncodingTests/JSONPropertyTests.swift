import Encoding
import SeededRandom
import Testing

@Suite("JSON and Base64 of random values")
struct JSONPropertyTests {
    static let seeds: [UInt64] = [11, 12, 13, 14]

    /// Texts and numbers that writers and readers disagree about.
    static let texts = [
        "", "a", "\"", "\\", "/", "\u{0}", "\u{1f}", "\u{7f}", "\r\n", "é", "e\u{301}", "\u{212a}", "😀", "\u{2028}",
        "\u{feff}", "\u{ffff}", "\u{10ffff}",
    ]
    static let numbers = [
        "0", "-0", "1", "-1", "1.5", "1e5", "1E+5", "1e-5", "9223372036854775807", "-9223372036854775808", "1e400",
        "0.10", "123456789012345678901234567890",
    ]

    static func value(_ random: inout SeededGenerator, depth: Int = 0) -> JSON {
        switch random.index(below: depth > 4 ? 4 : 6) {
        case 0: return [.null, true, false][random.index(below: 3)]
        case 1, 2: return .string(text(&random))
        case 3:
            let text = numbers[random.index(below: numbers.count)]
            return (try? JSON.parse(Array(text.utf8))) ?? .null
        case 4: return .array((0..<random.index(below: 5)).map { _ in value(&random, depth: depth + 1) })
        default:
            // Over the number of members at which the parser begins to hash names.
            let count = random.index(below: 8) == 0 ? 40 : random.index(below: 5)
            return .object(
                JSONObject((0..<count).map { ("\($0)" + text(&random), value(&random, depth: depth + 1)) }))
        }
    }

    static func text(_ random: inout SeededGenerator) -> String {
        (0..<random.index(below: 4)).map { _ in texts[random.index(below: texts.count)] }.joined()
    }

    @Test("What is written is read back as the same value, and written as the same bytes", arguments: seeds)
    func writing(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let value = Self.value(&random)
            let read = try JSON.parse(value.encoded())
            #expect(read == value)
            #expect(read.encoded() == value.encoded())
        }
    }

    @Test("Whatever is made of a text, if it is read at all, what is written of it reads as the same", arguments: seeds)
    func reading(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var readCount = 0
        for _ in 0..<3_000 {
            var bytes = Self.value(&random).encoded()
            for _ in 0...random.index(below: 2) where !bytes.isEmpty {
                let position = random.index(below: bytes.count)
                switch random.index(below: 4) {
                case 0: bytes[position] = UInt8(random.index(below: 256))
                case 1: bytes.remove(at: position)
                case 2: bytes.insert(Array(" ,:{}[]\"\\0e-.".utf8)[random.index(below: 13)], at: position)
                default: bytes.insert(bytes[random.index(below: bytes.count)], at: position)
                }
            }
            guard let read = try? JSON.parse(bytes) else { continue }
            readCount += 1
            #expect(try JSON.parse(read.encoded()) == read)
        }
        #expect(readCount > 100)
    }

    @Test("Bytes have one spelling in Base64, and it is theirs", arguments: seeds)
    func base64(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1_000 {
            let bytes = (0..<random.index(below: 70)).map { _ in UInt8(random.index(below: 256)) }
            expectOneSpelling(Array(Base64URL.encode(bytes).utf8), bytes, &random) { Base64URL.decode($0) }
            expectOneSpelling(Array(Base64.encode(bytes).utf8), bytes, &random) { Base64.decode($0) }
        }
    }

    private func expectOneSpelling(
        _ encoded: [UInt8], _ bytes: [UInt8], _ random: inout SeededGenerator, decode: ([UInt8]) -> [UInt8]?
    ) {
        #expect(decode(encoded) == bytes)
        guard !encoded.isEmpty else { return }
        var other = encoded
        other[random.index(below: other.count)] = UInt8(random.index(below: 256))
        if other != encoded { #expect(decode(other) != bytes) }
    }

    @Test("No two texts of up to two characters stand for the same bytes")
    func shortSpellings() {
        var spellings: [[UInt8]: [UInt8]] = [:]
        for first in UInt8.min...UInt8.max {
            for text in [[first]] + (UInt8.min...UInt8.max).map({ [first, $0] }) {
                guard let bytes = Base64URL.decode(text) else { continue }
                #expect(spellings.updateValue(text, forKey: bytes) == nil)
            }
        }
        #expect(spellings.count == 256)
    }
}
