import HTTP1
import HTTPTypes
import NIOCore
import SeededRandom
import Testing

@testable import Listener

/// Heads whose long value comes in Huffman's code again and again.
@Suite("Values in Huffman's code that a connection repeats")
struct HTTP2RepeatedLiteralTests {
    /// The symbols of five bits (RFC 7541, Appendix B), by their codes.
    private static let symbols = Array("012aceiost")

    /// A string literal in Huffman's code.
    static func coded(_ text: String) -> [UInt8] {
        let bits = text.flatMap { symbol in
            let code = symbols.firstIndex(of: symbol) ?? 0
            return (0..<5).map { code >> (4 - $0) & 1 == 1 }
        }
        // The end is filled with ones.
        let bytes = stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(UInt8(0)) { $0 << 1 | (start + $1 >= bits.count || bits[start + $1] ? 1 : 0) }
        }
        return length(bytes.count, marked: 0x80) + bytes
    }

    /// RFC 7541 §5.1.
    static func length(_ count: Int, marked: UInt8) -> [UInt8] {
        guard count >= 127 else { return [marked | UInt8(count)] }
        var (rest, bytes) = (count - 127, [marked | 127])
        while rest >= 128 {
            bytes.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return bytes + [UInt8(rest)]
    }

    private static func text(_ count: Int, from first: Int = 0) -> String {
        String((0..<count).map { symbols[($0 * 7 + $0 / 10 + first) % symbols.count] })
    }

    /// `GET /` at "a", from the static table, with `authorization`, never indexed.
    private static func head(_ value: [UInt8], before: [UInt8] = [], behind: [UInt8] = []) -> [UInt8] {
        [0x82, 0x86, 0x84, 0x01, 1, 0x61] + before + [0x1F, 8] + value + behind
    }

    private static func frame(_ stream: Int32, flags: UInt8 = 5, _ block: [UInt8]) -> [UInt8] {
        [UInt8(block.count >> 16), UInt8(block.count >> 8 & 0xFF), UInt8(block.count & 0xFF), 1, flags, 0, 0, 0]
            + [UInt8(stream)] + block
    }

    private func wire() throws -> HTTP2Wire {
        let wire = try HTTP2Wire { $0.answer(.ok, "x") }
        try wire.send(wire.opening)
        _ = try wire.take()
        return wire
    }

    private static func values(_ wire: HTTP2Wire, _ name: HTTPField.Name = .authorization) -> [String?] {
        wire.service.exchanges.map { $0.request.head.headerFields[name] }
    }

    @Test("Whichever token comes, and however often, the request has it", arguments: [1, 100, 204, 205, 1700, 6000])
    func tokens(count: Int) throws {
        let wire = try wire()
        let texts = [0, 0, 0, 1, 1, 0, 2, 2, 2].map { Self.text(count, from: $0) }
        for (index, text) in texts.enumerated() {
            try wire.send(Self.frame(Int32(2 * index + 1), Self.head(Self.coded(text))))
        }
        #expect(Self.values(wire) == texts)
        #expect(try wire.take().allSatisfy { $0.type != 7 && $0.type != 3 })
    }

    @Test("From the second time on the session gets it decoded, with all that is around it as it came")
    func replaced() throws {
        let text = Self.text(1000)
        let (before, behind): ([UInt8], [UInt8]) = ([0x40, 1, 0x78, 1, 0x79], [0x00, 1, 0x7A, 0x83, 0xFF, 0xFF, 0xFF])
        for prioritised in [false, true] {
            let priority: [UInt8] = prioritised ? [0, 0, 0, 0, 15] : []
            let block = priority + Self.head(Self.coded(text), before: before, behind: behind)
            let bytes = Self.frame(9, flags: prioritised ? 0x25 : 5, block)
            let plain = Self.length(text.utf8.count, marked: 0) + Array(text.utf8)
            let expected = Self.frame(
                9, flags: prioritised ? 0x25 : 5, priority + Self.head(plain, before: before, behind: behind))
            var reading = HTTP2HeadReading(limits: HeadLimits(), scheme: "http")
            // Other frames around it in one read.
            let read = ByteBuffer(bytes: [1, 2, 3] + bytes + [4])
            func decoded() throws -> ByteBuffer? {
                var scanner = HTTP2FrameScanner()
                var position = 0
                let header = try #require(
                    scanner.next(in: RawFrame.opening(ByteBuffer(bytes: bytes)), from: &position))
                return reading.decoded(header, read, from: 3 + HTTP2FrameHeader.size)
            }
            #expect(try decoded() == nil)
            for _ in 0..<2 { #expect(try decoded() == ByteBuffer(bytes: expected)) }
            reading.forget()
            #expect(try decoded() == nil)
        }
    }

    @Test("A frame that is too long stays so, though its value is shorter than its code", arguments: [false, true])
    func tooLong(isWhole: Bool) throws {
        // Nineteen bits each (RFC 7541, Appendix B), as many as fill whole bytes.
        let bits = (0..<1720).flatMap { _ in (0..<19).map { 0x7FFF0 >> (18 - $0) & 1 == 1 } }
        let code = stride(from: 0, to: bits.count, by: 8).map { start in
            (0..<8).reduce(UInt8(0)) { $0 << 1 | (bits[start + $1] ? 1 : 0) }
        }
        let field = [0x00, 1, 0x78] + Self.length(code.count, marked: 0x80) + code
        let wire = try wire()
        try wire.send(Self.frame(1, [0x82, 0x86, 0x84, 0x01, 1, 0x61] + field))
        #expect(try wire.take().allSatisfy { $0.type != 7 })
        let filler = [UInt8](repeating: 0x61, count: 13_000)
        let more = [0x00, 1, 0x79] + Self.length(filler.count, marked: 0) + filler
        let bytes = Self.frame(3, [0x82, 0x86, 0x84, 0x01, 1, 0x61] + field + more)
        if isWhole {
            try wire.send(bytes)
        } else {
            try wire.send(bytes.dropLast())
            try wire.send(Array(bytes.suffix(1)))
        }
        #expect(try wire.take().last { $0.type == 7 }?.word(at: 4) == 6)
        #expect(wire.service.exchanges.count == 1)
    }

    // MARK: Beside a connection whose heads never come whole

    /// A head of literals of every kind, some of them long, sometimes damaged.
    private static func block(_ random: inout SeededGenerator) -> [UInt8] {
        func value() -> [UInt8] {
            let text = text([5, 300, 900, 2000][random.index(below: 4)], from: random.index(below: 2))
            return random.index(below: 4) > 0 ? coded(text) : length(text.utf8.count, marked: 0) + Array(text.utf8)
        }
        var block: [UInt8] = [0x82, 0x86, 0x84, 0x01, 1, 0x61]
        if random.index(below: 6) == 0 { block.insert(contentsOf: [0x20, 0x3F, 0xE1, 0x1F], at: 0) }
        for _ in 0..<random.index(below: 4) {
            switch random.index(below: 12) {
            case 0: block += [0xBE]
            case 1, 2: block += [0x40, 1, 0x78] + value()
            case 3, 4: block += [0x00, 1, 0x79] + value()
            case 5, 6: block += [0x10, 0x81, 0xF3] + value()
            case 7, 8: block += [0x0F, 0x11] + value()
            default: block += [0x1F, 8] + value()
            }
        }
        if random.index(below: 40) == 0 { block[random.index(below: block.count)] ^= 1 << random.index(below: 8) }
        return block
    }

    @Test("A connection answers like one whose heads come in two parts, whatever is in them", arguments: 0..<100)
    func beside(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let (whole, pieces) = (try wire(), try wire())
        func seen(_ wire: HTTP2Wire) throws -> [String] {
            // The responses' heads have the time in them.
            try wire.take().map { "\($0.type) \($0.flags) \($0.stream) \($0.type == 1 ? [] : $0.payload)" }
        }
        for number in 0..<40 {
            let prioritised = random.index(below: 5) == 0
            let flags: UInt8 = (prioritised ? 0x20 : 0) | (random.index(below: 5) == 0 ? 4 : 5)
            let block = Self.block(&random)
            let bytes = Self.frame(
                Int32(2 * number + 1), flags: flags, (prioritised ? [0, 0, 0, 0, 9] : []) + block)
            try whole.send(bytes)
            try pieces.send(bytes.dropLast())
            try pieces.send(Array(bytes.suffix(1)))
            let (one, other) = (try seen(whole), try seen(pieces))
            #expect(one == other)
        }
        let requests = whole.service.exchanges.map(\.request.head)
        #expect(requests == pieces.service.exchanges.map(\.request.head))
        if seed == 0 { #expect(requests.count > 10) }
    }
}
