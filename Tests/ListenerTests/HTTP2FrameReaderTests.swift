import NIOCore
import NIOEmbedded
import Testing

@testable import Listener

/// Bytes of frames, written from RFC 9113 §4.1.
enum RawFrame {
    static let preface = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

    static func bytes(_ type: UInt8, flags: UInt8 = 0, stream: Int32 = 0, payload: [UInt8] = []) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeInteger(UInt32(payload.count) << 8 | UInt32(type))
        bytes.writeInteger(flags)
        bytes.writeInteger(stream)
        bytes.writeBytes(payload)
        return bytes
    }

    static func opening(_ frames: ByteBuffer...) -> ByteBuffer {
        frames.reduce(into: preface) { $0.writeImmutableBuffer($1) }
    }
}

@Suite("The reader of a client's HTTP/2 frames")
struct HTTP2FrameReaderTests {
    /// The reader's result for bytes that come in reads.
    private struct Outcome: Equatable {
        var passed: [ByteBuffer] = []
        var isFlooded = false
        var bytes: ByteBuffer { passed.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) } }
    }

    private static func read(_ reads: [ByteBuffer]) -> Outcome {
        var reader = HTTP2FrameReader()
        var outcome = Outcome()
        for var bytes in reads {
            while let piece = reader.next(from: &bytes) { outcome.passed.append(piece) }
        }
        outcome.isFlooded = reader.isFlooded
        return outcome
    }

    private static func cut(_ bytes: ByteBuffer, into step: Int) -> [ByteBuffer] {
        stride(from: 0, to: bytes.readableBytes, by: step).compactMap {
            bytes.getSlice(at: bytes.readerIndex + $0, length: min(step, bytes.readableBytes - $0))
        }
    }

    /// Where frames end, without the reader.
    private static func ends(of bytes: ByteBuffer) -> Set<Int> {
        var ends: Set<Int> = [24]
        var position = 24
        while let word = bytes.getInteger(at: position, as: UInt32.self) {
            position += 9 + Int(word >> 8)
            ends.insert(position)
        }
        return ends
    }

    private static let everyType = (0...255).reduce(into: RawFrame.preface) { bytes, type in
        bytes.writeImmutableBuffer(RawFrame.bytes(1, flags: 5, stream: 1))
        bytes.writeImmutableBuffer(
            RawFrame.bytes(UInt8(type), stream: 1, payload: Array(repeating: UInt8(type), count: type % 23)))
    }

    @Test("Frames of every type pass unchanged, however their bytes are cut", arguments: Array(1...40) + [997, 5000])
    func everyStep(step: Int) {
        let outcome = Self.read(Self.cut(Self.everyType, into: step))
        #expect(outcome.bytes == Self.everyType)
        #expect(!outcome.isFlooded)
    }

    @Test("Wherever two reads meet, the frame that they share ends a piece")
    func everySplit() throws {
        let bytes = RawFrame.opening(
            RawFrame.bytes(4), RawFrame.bytes(1, flags: 4, stream: 1, payload: [0x82]),
            RawFrame.bytes(0, stream: 1, payload: Array(repeating: 7, count: 40)),
            RawFrame.bytes(0x4F, payload: [1, 2]),
            RawFrame.bytes(0, flags: 1, stream: 1))
        let ends = Self.ends(of: bytes)
        for split in 1..<bytes.readableBytes {
            let first = try #require(bytes.getSlice(at: 0, length: split))
            let second = try #require(bytes.getSlice(at: split, length: bytes.readableBytes - split))
            let pieces = Self.read([first, second]).passed
            #expect(pieces.first.map { $0.readableBytes } == min(split, 24), "the preface is a piece")
            var positions: Set<Int> = []
            _ = pieces.reduce(0) { position, piece in
                positions.insert(position + piece.readableBytes)
                return position + piece.readableBytes
            }
            let shared = try #require(ends.filter { $0 >= split }.min())
            #expect(positions.contains(shared), "split at \(split)")
            #expect(pieces.count <= 5)
            #expect(pieces.reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) } == bytes)
        }
    }

    @Test("A read of whole frames stays one piece")
    func onePiece() {
        let frames = (0..<20).reduce(into: ByteBuffer()) { bytes, _ in
            bytes.writeImmutableBuffer(RawFrame.bytes(0, stream: 1, payload: [1, 2, 3]))
        }
        #expect(Self.read([RawFrame.preface, frames]).passed == [RawFrame.preface, frames])
    }

    @Test(
        "A frame of the largest size passes, and one byte more ends it at its header", arguments: [1, 9, 100, 20_000])
    func oversize(step: Int) {
        let largest = RawFrame.bytes(0, stream: 1, payload: Array(repeating: 1, count: 16_384))
        let larger = RawFrame.bytes(0x4F, payload: Array(repeating: 1, count: 16_385))
        let outcome = Self.read(Self.cut(RawFrame.opening(largest, larger, RawFrame.bytes(6)), into: step))
        var expected = RawFrame.opening(largest)
        expected.writeImmutableBuffer(larger.getSlice(at: 0, length: 9) ?? ByteBuffer())
        #expect(outcome.bytes == expected)
        #expect(!outcome.isFlooded)
    }

    @Test("Parts of DATA frames are counted by stream: a frame, and each read that goes on with one")
    func parts() throws {
        var reader = HTTP2FrameReader()
        var first = RawFrame.opening(
            RawFrame.bytes(0, stream: 1), RawFrame.bytes(0, stream: 1, payload: [1]), RawFrame.bytes(6),
            RawFrame.bytes(0, stream: 3 | .min, payload: [1, 2]))
        let long = RawFrame.bytes(0, stream: 5, payload: Array(repeating: 1, count: 30))
        var (second, third, fourth) = (
            try #require(long.getSlice(at: 0, length: 20)), try #require(long.getSlice(at: 20, length: 10)),
            try #require(long.getSlice(at: 30, length: 9))
        )
        func parts(_ bytes: inout ByteBuffer) -> [[Int]] {
            while reader.next(from: &bytes) != nil {}
            defer { reader.forgetParts() }
            return reader.parts.map { [Int($0.stream), $0.count] }
        }
        #expect(parts(&first) == [[1, 2], [3, 1]])
        #expect(parts(&second) == [[5, 1]])
        #expect(parts(&third) == [[5, 1]])
        #expect(parts(&fourth) == [[5, 1]])
        var other = RawFrame.bytes(0x4F, payload: [1])
        #expect(parts(&other).isEmpty)
    }

    private static func flooding(_ type: UInt8, length: Int) -> Int {
        var reader = HTTP2FrameReader()
        var preface = RawFrame.preface
        _ = reader.next(from: &preface)
        let frame = RawFrame.bytes(type, stream: 1, payload: Array(repeating: 0, count: length))
        for count in 0..<20_000 {
            var bytes = frame
            while reader.next(from: &bytes) != nil {}
            if reader.isFlooded { return count }
        }
        return .max
    }

    @Test("Frames that change nothing are counted", arguments: [2, 7, 10, 11, 12, 16, 0x4F, 255] as [UInt8])
    func idleFrames(type: UInt8) {
        #expect(Self.flooding(type, length: 0) == 100)
        #expect(Self.flooding(type, length: 9_000) == 100)
    }

    @Test("Frames that SwiftNIO counts or refuses are left to it", arguments: [0, 1, 3, 4, 5, 6, 9] as [UInt8])
    func others(type: UInt8) {
        #expect(Self.flooding(type, length: 5) == .max)
    }

    @Test("Nothing passes once there were too many")
    func afterFlood() {
        let unknown = RawFrame.bytes(0x4F)
        let flood = (0..<101).reduce(into: RawFrame.preface) { bytes, _ in bytes.writeImmutableBuffer(unknown) }
        let outcome = Self.read([flood, RawFrame.bytes(6)])
        #expect(outcome.isFlooded)
        #expect(outcome.passed.count == 1)
    }

    @Test("Window updates are counted however their bytes are cut", arguments: [1, 2, 3, 7, 13, 5000])
    func windowUpdates(step: Int) {
        let update = RawFrame.bytes(8, payload: [0, 0, 0, 1])
        // A payload that looks like frames is none.
        var sent = RawFrame.opening(RawFrame.bytes(0, stream: 1, payload: Array(repeating: 8, count: 999)))
        for _ in 0..<100 { sent.writeImmutableBuffer(update) }
        #expect(!Self.read(Self.cut(sent, into: step)).isFlooded)
        sent.writeImmutableBuffer(update)
        #expect(Self.read(Self.cut(sent, into: step)).isFlooded)
    }

    @Test("Streams and DATA frames give room for more, up to a bound")
    func room() {
        func room(of type: HTTP2FrameType, _ prepare: (inout HTTP2FrameBudget) -> Void) -> Int {
            var budget = HTTP2FrameBudget()
            prepare(&budget)
            var count = 0
            while budget.take(type) { count += 1 }
            return count
        }
        func many(_ frame: HTTP2FrameType) -> (inout HTTP2FrameBudget) -> Void {
            { budget in for _ in 0..<6000 { _ = budget.take(frame) } }
        }
        #expect(room(of: .windowUpdate) { _ in } == 100)
        #expect(room(of: .windowUpdate) { $0.dataFrameWasSent() } == 110)
        #expect(room(of: .windowUpdate) { _ = $0.take(.headers) } == 102)
        #expect(room(of: .windowUpdate, many(.headers)) == 10_000)
        let unknown = HTTP2FrameType(number: 0x10)
        #expect(room(of: unknown) { _ in } == 100)
        #expect(room(of: unknown) { _ = $0.take(.headers) } == 104)
        #expect(room(of: unknown, many(.headers)) == 1_000)
    }
}
