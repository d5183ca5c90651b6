import NIOCore
import Pipeline
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

@Suite("The scanner of a client's HTTP/2 frames")
struct HTTP2FrameScannerTests {
    private static let everyType = (0...255).reduce(into: RawFrame.preface) { bytes, type in
        bytes.writeImmutableBuffer(RawFrame.bytes(1, flags: 5, stream: 1))
        bytes.writeImmutableBuffer(
            RawFrame.bytes(
                UInt8(type), flags: 4, stream: .max, payload: Array(repeating: UInt8(type), count: type % 23)))
    }

    @Test("Frames of every type are found, however their bytes are cut", arguments: Array(1...40) + [997, 5000])
    func everyStep(step: Int) throws {
        var scanner = HTTP2FrameScanner()
        var found: [HTTP2FrameHeader] = []
        for start in stride(from: 0, to: Self.everyType.readableBytes, by: step) {
            let length = min(step, Self.everyType.readableBytes - start)
            // Where a buffer's bytes begin says nothing.
            let part = try #require(Self.everyType.getSlice(at: start, length: length))
            var position = part.readerIndex
            while let header = scanner.next(in: part, from: &position) { found.append(header) }
            #expect(position == part.writerIndex)
        }
        try #require(found.count == 512)
        for type in 0...255 {
            let header = found[2 * type + 1]
            #expect(header.type.number == UInt8(type) && header.flags == 4 && header.stream == .max)
            #expect(header.length == type % 23)
        }
        #expect(!scanner.isIncomplete)
    }

    @Test("The reserved bit belongs to no stream's number")
    func reservedBit() {
        var scanner = HTTP2FrameScanner()
        let bytes = RawFrame.opening(RawFrame.bytes(0, stream: 5 | .min))
        var position = bytes.readerIndex
        #expect(scanner.next(in: bytes, from: &position)?.stream == 5)
    }
}

@Suite("The budget of a client's HTTP/2 frames")
struct HTTP2FrameBudgetTests {
    private static let now = NIODeadline.uptimeNanoseconds(0)

    private static func room(
        of type: HTTP2FrameType, limits: HTTP2Limits = HTTP2Limits(),
        _ prepare: (inout HTTP2FrameBudget) -> Void = { _ in }
    ) -> Int {
        var budget = HTTP2FrameBudget(limits)
        prepare(&budget)
        var count = 0
        while count < 20_000, budget.take(type, at: now) { count += 1 }
        return count
    }

    @Test("Frames that change nothing are counted", arguments: [2, 7, 10, 11, 12, 16, 0x4F, 255] as [UInt8])
    func idleFrames(type: UInt8) {
        #expect(Self.room(of: HTTP2FrameType(number: type)) == 100)
    }

    @Test(
        "Frames that the session counts, or that have a bound of their own, are not",
        arguments: [0, 1, 5] as [UInt8])
    func others(type: UInt8) {
        #expect(Self.room(of: HTTP2FrameType(number: type)) == 20_000)
    }

    @Test("CONTINUATION frames are counted in a row")
    func continuations() {
        let limits = HTTP2Limits(continuationFrames: 5)
        #expect(Self.room(of: .continuation, limits: limits) == 5)
        #expect(
            Self.room(of: .continuation, limits: limits) { budget in
                for type in [.continuation, .continuation, .headers] as [HTTP2FrameType] {
                    _ = budget.take(type, at: Self.now)
                }
            } == 5)
    }

    @Test("Frames that want an answer, and resets, are counted in a time", arguments: [3, 4, 6] as [UInt8])
    func recent(type: UInt8) {
        let type = HTTP2FrameType(number: type)
        #expect(Self.room(of: type) == 200)
        var budget = HTTP2FrameBudget(HTTP2Limits())
        let taken = (0..<10_000).map { budget.take(type, at: Self.now + .milliseconds(150) * $0) }
        #expect(!taken.contains(false))
    }

    @Test("Resets of both sides are counted together")
    func resets() {
        let limits = HTTP2Limits(resets: 5, resetWindow: .seconds(1))
        #expect(
            Self.room(of: .resetStream, limits: limits) { for _ in 0..<3 { _ = $0.resetWasProvoked(at: Self.now) } }
                == 2)
        #expect(Self.room(of: .resetStream, limits: HTTP2Limits(resets: 0)) == 0)
    }

    @Test("Streams and DATA frames give room for more, up to a bound")
    func more() {
        func many(_ frame: HTTP2FrameType) -> (inout HTTP2FrameBudget) -> Void {
            { budget in for _ in 0..<6000 { _ = budget.take(frame, at: Self.now) } }
        }
        #expect(Self.room(of: .windowUpdate) == 100)
        #expect(Self.room(of: .windowUpdate) { $0.dataFrameWasSent() } == 110)
        #expect(Self.room(of: .windowUpdate) { _ = $0.take(.headers, at: Self.now) } == 102)
        #expect(Self.room(of: .windowUpdate, many(.headers)) == 10_000)
        let unknown = HTTP2FrameType(number: 0x10)
        #expect(Self.room(of: unknown) { _ = $0.take(.headers, at: Self.now) } == 104)
        #expect(Self.room(of: unknown, many(.headers)) == 1_000)
    }

    @Test("DATA frames without a byte may follow each other eight times")
    func emptyFrames() {
        var budget = HTTP2FrameBudget(HTTP2Limits())
        let frames = (0..<3).flatMap { _ in [Bool](repeating: true, count: 8) + [false] }
        let taken = frames.map { budget.dataHasEnded(isEmpty: $0) }
        #expect(!taken.contains(false))
        let more = (0..<9).map { _ in budget.dataHasEnded(isEmpty: true) }
        #expect(more.firstIndex(of: false) == 8)
    }

    @Test(
        "Of a stream that was reset may come what its window allowed",
        arguments: [(0, 1_000, 65), (0, 0, 65_535), (1, 20, 201)])
    func late(type: UInt64, length: UInt64, count: Int) {
        let header = HTTP2FrameHeader(length << 40 | type << 32, 1)
        func room(_ prepare: (inout HTTP2FrameBudget) -> Void) -> Int {
            var budget = HTTP2FrameBudget(HTTP2Limits())
            prepare(&budget)
            var count = 0
            while budget.takeLate(header) { count += 1 }
            return count
        }
        #expect(room { $0.streamWasReset(window: 65_535) } == count)
        if type == 0 { #expect(room { _ in } == 0) }
    }

    @Test("Closed streams are known for a while, and how they were closed")
    func closedStreams() {
        var closed = HTTP2ClosedStreams(most: 3)
        #expect(closed[1] == nil)
        for stream: Int32 in [1, 3, 5, 7] { closed.insert(stream, stream == 5 ? .reset : .ended) }
        #expect(closed[1] == .ended && closed[3] == .ended && closed[5] == .reset && closed[7] == .ended)
        for stream in stride(from: Int32(9), to: 409, by: 2) { closed.insert(stream, .ended) }
        #expect(closed[7] == nil && closed[5] == .reset && closed[407] == .ended)
        for stream: Int32 in [409, 411, 413] { closed.insert(stream, .reset) }
        #expect(closed[5] == nil && closed[407] == .ended && closed[409] == .reset)
    }
}
