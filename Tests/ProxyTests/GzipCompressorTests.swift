import NIOCore
import SeededRandom
import Testing
import Zlib

@Suite("The gzip compressor")
struct GzipCompressorTests {
    /// The pieces as a reader has them: the file name of the header, and the content.
    private static func read(_ pieces: [ByteBuffer]) throws -> (name: [UInt8], content: [UInt8]) {
        var member = pieces.flatMap { Array($0.readableBytesView) }
        // RFC 1952, 2.3.
        #expect(Array(member.prefix(3)) == [0x1F, 0x8B, 8])
        let hasName = member[3] & 8 != 0
        member.removeFirst(10)
        let name = hasName ? Array(member.prefix { $0 != 0 }) : []
        if hasName { member.removeFirst(name.count + 1) }
        let trailer = Array(member.suffix(8))
        var inflater = try Inflater()
        var content: [UInt8] = []
        inflater.feed(Array(member.dropLast(8)))
        while case let part = try inflater.read(atMost: 60_000), !part.isEmpty { content += part }
        let (isAtEnd, crc, size) = (inflater.isAtEnd, inflater.crc32, UInt32(truncatingIfNeeded: content.count))
        #expect(isAtEnd)
        #expect(trailer == [crc, size].flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } })
        return (name, content)
    }

    @Test("Whatever the pieces and flushes, a reader gets the bytes", arguments: 0..<40)
    func pieces(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var compressor = GzipCompressor(padding: Int(seed) * 2)
        var (sent, output) = ([UInt8](), [ByteBuffer]())
        for _ in 0..<Int.random(in: 0..<20, using: &random) {
            let most: UInt8 = Bool.random(using: &random) ? 255 : 3
            let piece = (0..<Int.random(in: 0..<40_000, using: &random)).map { _ in
                UInt8.random(in: 0...most, using: &random)
            }
            sent += piece
            output.append(
                compressor.compress(ByteBuffer(bytes: piece), Bool.random(using: &random) ? .piece : .nothing))
        }
        output.append(compressor.compress(ByteBuffer(), .end))
        let (name, content) = try Self.read(output)
        #expect(content == sent)
        #expect(name.count == Int(seed) * 2)
    }

    @Test("A flush without new bytes gives nothing")
    func idleFlush() {
        var compressor = GzipCompressor()
        let sizes = [("", GzipCompressor.Flush.piece), ("a", .piece), ("", .piece), ("", .end)].map { text, flush in
            compressor.compress(ByteBuffer(string: text), flush).readableBytes
        }
        #expect(sizes.map { $0 > 0 } == [false, true, false, true])
    }
}
