import Pipeline
import Testing

@Suite("WebSocket: where frames end")
struct WebSocketFrameTrackerTests {
    /// One frame as RFC 6455 §5.2 draws it.
    static func frame(
        _ opcode: UInt8, _ payload: Int, isFinal: Bool = true, mask: Bool = false, lengthBytes: Int? = nil
    ) -> [UInt8] {
        let extra = lengthBytes ?? (payload > 65_535 ? 8 : payload > 125 ? 2 : 0)
        var bytes = [(isFinal ? 0x80 : 0) | opcode]
        bytes.append((mask ? 0x80 : 0) | (extra == 8 ? 127 : extra == 2 ? 126 : UInt8(payload)))
        bytes += (0..<extra).reversed().map { UInt8(truncatingIfNeeded: payload >> ($0 * 8)) }
        if mask { bytes += [1, 2, 3, 4] }
        return bytes + [UInt8](repeating: 0x81, count: payload)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var frames: [[UInt8]]
        var isMasked = false
    }

    static let rows = [
        Row(testDescription: "empty", frames: [frame(1, 0)]),
        Row(
            testDescription: "the lengths in 7, 16 and 64 bits",
            frames: [1, 125, 126, 65_535, 65_536].map { frame(2, $0) }),
        Row(
            testDescription: "masked", frames: [0, 125, 126, 65_536].map { frame(1, $0, mask: true) }, isMasked: true),
        Row(
            testDescription: "fragments with a ping between",
            frames: [frame(1, 10, isFinal: false), frame(9, 4), frame(0, 300, isFinal: false), frame(0, 0)]),
        Row(
            testDescription: "a compressed message (RFC 7692 sets a reserved bit)",
            frames: [frame(0x41, 9), frame(1, 2)]),
        Row(testDescription: "a longer length than needed", frames: [frame(1, 5, lengthBytes: 8), frame(1, 5)]),
    ]

    @Test("A boundary is behind each frame and nowhere else, however the bytes are cut", arguments: rows)
    func boundaries(row: Row) {
        var tracker = WebSocketFrameTracker(isMasked: row.isMasked)
        #expect(tracker.isAtBoundary)
        for frame in row.frames {
            for (index, byte) in frame.enumerated() {
                tracker.advance(over: [byte].span)
                if tracker.isAtBoundary != (index == frame.count - 1) {
                    Issue.record("boundary after \(index + 1) of \(frame.count) bytes: \(tracker.isAtBoundary)")
                    return
                }
            }
        }
        var whole = WebSocketFrameTracker(isMasked: row.isMasked)
        whole.advance(over: Array(row.frames.joined()).span)
        #expect(whole == tracker)
    }

    @Test("The first boundary in a part of the stream is found", arguments: rows)
    func firstBoundary(row: Row) {
        let bytes = Array(row.frames.joined())
        for cut in 0..<min(bytes.count, 400) {
            var tracker = WebSocketFrameTracker(isMasked: row.isMasked)
            tracker.advance(over: Array(bytes[..<cut]).span)
            var end = 0
            for frame in row.frames where end < cut { end += frame.count }
            #expect(tracker.advance(toBoundaryIn: Array(bytes[cut...]).span) == end - cut, "cut at \(cut)")
            #expect(tracker.isAtBoundary)
        }
    }

    @Test("Where no boundary comes, all is gone over")
    func noBoundary() {
        let frame = Self.frame(2, 1000)
        var tracker = WebSocketFrameTracker(isMasked: false)
        tracker.advance(over: Array(frame[..<10]).span)
        #expect(tracker.advance(toBoundaryIn: Array(frame[10..<900]).span) == nil)
        #expect(tracker.advance(toBoundaryIn: Array(frame[900...] + [0x81]).span) == frame.count - 900)
    }

    static let lost: [(String, [UInt8])] = [
        ("a reserved opcode", [0x83, 0]),
        ("a reserved control opcode", [0x8B, 0]),
        ("a fragmented control frame", [0x09, 0]),
        ("a long control frame", [0x89, 126]),
        ("a masked frame of a server", [0x81, 0x80, 0, 0, 0, 0]),
        ("a length beyond 63 bits", [0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]),
    ]

    @Test("What is no frame ends the tracking for good", arguments: lost)
    func losesTrack(name: String, bytes: [UInt8]) {
        var tracker = WebSocketFrameTracker(isMasked: false)
        tracker.advance(over: bytes.span)
        #expect(!tracker.isTracking && !tracker.isAtBoundary)
        #expect(tracker.advance(toBoundaryIn: Self.frame(1, 0).span) == nil)
    }

    @Test("A client's frame without a mask is none")
    func unmasked() {
        var tracker = WebSocketFrameTracker(isMasked: true)
        tracker.advance(over: Self.frame(1, 0).span)
        #expect(!tracker.isTracking)
    }

    @Test("Nothing may follow a Close frame")
    func afterClose() {
        var tracker = WebSocketFrameTracker(isMasked: false)
        tracker.advance(over: Self.frame(8, 2).span)
        #expect(!tracker.isAtBoundary && !tracker.isTracking)
    }

    @Test("The gateway's own Close frames are frames", arguments: [WebSocketClose.tokenExpired, .idle, .goingAway])
    func ownFrames(close: WebSocketClose) {
        let plain = close.frame()
        let masked = close.frame(mask: [9, 8, 7, 6])
        for (bytes, isMasked) in [(plain, false), (masked, true)] {
            var tracker = WebSocketFrameTracker(isMasked: isMasked)
            tracker.advance(over: Array(bytes.dropLast()).span)
            #expect(tracker.isTracking && !tracker.isAtBoundary)
            tracker.advance(over: [bytes.last ?? 0].span)
            // It is over because of the Close frame, and not because track was lost on the way.
            #expect(!tracker.isTracking)
        }
        #expect(plain[0] == 0x88 && UInt16(plain[2]) << 8 | UInt16(plain[3]) == close.code)
        let payload = masked.dropFirst(6).enumerated().map { $1 ^ [9, 8, 7, 6][$0 % 4] }
        #expect(payload == Array(plain.dropFirst(2)))
    }
}
