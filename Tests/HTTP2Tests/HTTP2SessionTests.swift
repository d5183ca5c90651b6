import HTTP2
import NIOCore
import Testing

@Suite("A session of HTTP/2")
struct HTTP2SessionTests {
    @Test("It announces its limits, and opens the connection's window")
    func announcement() throws {
        let peer = try ScriptedReceiver(HTTP2SessionLimits(streams: 7, headerListSize: 9, connectionWindow: 100_000))
        let frames = peer.frames()
        #expect(frames.map(\.type) == [4, 8])
        #expect(frames[0].payload == [0, 3, 0, 0, 0, 7, 0, 6, 0, 0, 0, 9, 0, 8, 0, 0, 0, 1, 0, 9, 0, 0, 0, 1])
        #expect(frames[1].stream == 0 && frames[1].word() == 100_000 - 65_535)
    }

    @Test("A request comes out as it went in, however its bytes are cut", arguments: [1, 2, 3, 9, 10, 1000])
    func request(step: Int) throws {
        let peer = try ScriptedReceiver()
        let sent =
            RawFrame.opening + RawFrame.head(1) + RawFrame.bytes(0, stream: 1, payload: Array("abc".utf8))
            + RawFrame.bytes(0, flags: 9, stream: 1, payload: [2] + Array("def".utf8) + [0, 0])
        for start in stride(from: 0, to: sent.count, by: step) {
            peer.send(Array(sent[start..<min(start + step, sent.count)]))
        }
        let body = peer.events.filter { $0.hasPrefix("body") }.map { $0.dropFirst(7) }.joined()
        #expect(body == "abcdef")
        #expect(
            peer.events.filter { !$0.hasPrefix("body") } == [
                "head 1", ":method=POST", ":scheme=http", ":authority=a", ":path=/", "head ends 1", "data ends 1",
                "data ends 1, the last",
            ])
    }

    @Test("A response goes out, its body within the client's windows and with no byte copied")
    func response() throws {
        let peer = try ScriptedReceiver(leastPart: 1000)
        peer.send(RawFrame.opening + RawFrame.head(1, flags: 5))
        _ = peer.frames()
        peer.bodies[1] = ByteBuffer(repeating: 7, count: 100_000)
        peer.answer(1, [(":status", "200"), ("Content-Type", "text/plain")])
        let frames = peer.frames()
        #expect(frames.map(\.type) == [1, 0, 0, 0, 0])
        #expect(frames.dropFirst().map(\.payload.count).reduce(0, +) == 65_535)
        #expect(frames.allSatisfy { $0.flags & 1 == 0 })
        #expect(peer.parts.filter { $0 >= 16_383 }.count == 4, "parts of the body are buffers of their own")
        let more = RawFrame.word(100_000)
        peer.send(RawFrame.bytes(8, payload: more) + RawFrame.bytes(8, stream: 1, payload: more))
        let rest = peer.frames()
        #expect(rest.map(\.payload.count).reduce(0, +) == 100_000 - 65_535)
        #expect(rest.last?.flags == 1)
        #expect(peer.events.last == "closes 1")
    }

    @Test("Its frames are the same after it has rested")
    func rest() throws {
        func frames(rests: Bool) throws -> [[UInt8]] {
            let peer = try ScriptedReceiver()
            peer.send(RawFrame.opening)
            return [Int32(1), 3, 5].flatMap { stream in
                if rests { peer.session.releaseIdleMemory() }
                peer.send(RawFrame.head(stream, flags: 5))
                peer.bodies[stream] = ByteBuffer(repeating: 7, count: 100_000)
                // Longer than a page, in one frame.
                peer.answer(stream, [(":status", "200"), ("x-long", String(repeating: "x", count: 12_000))])
                // As far as there is room, and then the rest.
                let first = peer.write()
                if rests { peer.session.releaseIdleMemory() }
                peer.send(RawFrame.bytes(8, payload: RawFrame.word(100_000)))
                peer.send(RawFrame.bytes(8, stream: stream, payload: RawFrame.word(100_000)))
                let frames = first + peer.frames()
                #expect(frames.last?.flags == 1 && peer.events.last == "closes \(stream)")
                return frames.map { [$0.type, $0.flags] + $0.payload }
            }
        }
        #expect(try frames(rests: true) == frames(rests: false))
        #expect(try ScriptedReceiver().session.isMapped)
    }

    @Test("A client's fields stay while the session rests")
    func restingFields() throws {
        let peer = try ScriptedReceiver()
        // A literal with incremental indexing (RFC 7541 §6.2.1) whose value is 2 340 times the byte 249, of 28 bits each.
        // libnghttp2 takes 16 KiB to decode it, and keeps them in its table.
        let value = (0..<1170).flatMap { _ in [0xFF, 0xFF, 0xFF, 0xEF, 0xFF, 0xFF, 0xFE] as [UInt8] }
        let size = value.count - 127
        let field: [UInt8] = [0x40, 1, 0x78, 0xFF, UInt8(size & 127 | 128), UInt8(size >> 7)] + value
        peer.send(RawFrame.opening)
        for (stream, last) in [(Int32(1), field), (3, [0xBE]), (5, [0xBE])] {
            peer.send(RawFrame.bytes(1, flags: 5, stream: stream, payload: RawFrame.block(RawFrame.request) + last))
            peer.answer(stream, [(":status", "204")])
            peer.bodies[stream] = ByteBuffer()
            _ = peer.frames()
            peer.session.releaseIdleMemory()
        }
        let values = peer.events.filter { $0.hasPrefix("x=") }
        #expect(values.count == 3 && Set(values).count == 1 && values.allSatisfy { $0.count > 2000 })
    }

    @Test("An endless response does not hold up what is asked for later")
    func turns() throws {
        let peer = try ScriptedReceiver()
        let window = RawFrame.word(1 << 30)
        peer.send(RawFrame.opening + RawFrame.bytes(8, payload: window))
        peer.send(RawFrame.head(1, flags: 5) + RawFrame.bytes(8, stream: 1, payload: window))
        peer.bodies[1] = ByteBuffer(repeating: 7, count: 8 << 20)
        peer.answer(1, [(":status", "200")])
        _ = peer.write()
        peer.send(RawFrame.head(3, flags: 5))
        peer.bodies[3] = ByteBuffer(repeating: 8, count: 50_000)
        peer.answer(3, [(":status", "200")])
        let frames = (0..<3).flatMap { _ in peer.write() }
        func bytes(of stream: Int32) -> Int {
            frames.filter { $0.type == 0 && $0.stream == stream }.map(\.payload.count).reduce(0, +)
        }
        #expect(bytes(of: 3) == 50_000 && peer.events.contains("closes 3"))
        #expect(bytes(of: 1) >= 50_000 && !peer.events.contains("closes 1"))
    }

    @Test("The connection's window opens when bytes come, and a stream's when they are used")
    func windows() throws {
        // Each opens again when half of it is used.
        let peer = try ScriptedReceiver(HTTP2SessionLimits(connectionWindow: 65_535))
        peer.send(RawFrame.opening + RawFrame.head(1))
        _ = peer.frames()
        for _ in 0..<3 { peer.send(RawFrame.bytes(0, stream: 1, payload: [UInt8](repeating: 1, count: 16_384))) }
        #expect(peer.frames() == [SentFrame(type: 8, flags: 0, stream: 0, payload: RawFrame.word(32_768))])
        peer.session.consumed(32_768, of: 1)
        #expect(peer.frames() == [SentFrame(type: 8, flags: 0, stream: 1, payload: RawFrame.word(32_768))])
    }

    @Test("It answers PING, and reports its own that come back")
    func ping() throws {
        let peer = try ScriptedReceiver()
        peer.send(RawFrame.opening)
        _ = peer.frames()
        let payload: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        peer.send(RawFrame.bytes(6, payload: payload))
        #expect(peer.frames() == [SentFrame(type: 6, flags: 1, stream: 0, payload: payload)])
        peer.session.ping(0x0102_0304_0506_0708)
        #expect(peer.frames() == [SentFrame(type: 6, flags: 0, stream: 0, payload: payload)])
        peer.send(RawFrame.bytes(6, flags: 1, payload: payload))
        #expect(peer.events == ["ping \(0x0102_0304_0506_0708)"])
    }

    @Test("Trailers come and go")
    func trailers() throws {
        let peer = try ScriptedReceiver()
        peer.send(RawFrame.opening + RawFrame.head(1) + RawFrame.head(1, flags: 5, [("x-sum", "1")]))
        #expect(peer.events.suffix(3) == ["trailers 1", "x-sum=1", "head ends 1, the last"])
        _ = peer.frames()
        peer.bodies[1] = ByteBuffer(string: "abc")
        peer.trailers = [("x-end", "2")]
        peer.answer(1, [(":status", "200")])
        let frames = peer.frames()
        #expect(frames.map(\.type) == [1, 0, 1])
        #expect(frames.map(\.flags) == [4, 0, 5])
    }

    @Test("An error of the connection names the last stream that was taken")
    func goAway() throws {
        let peer = try ScriptedReceiver()
        // A frame that is too large, a SETTINGS frame on a stream, and one of the receiver's own.
        for bytes in [RawFrame.bytes(0x4F, payload: Array(repeating: 0, count: 16_385)), RawFrame.bytes(4, stream: 1)] {
            let other = try ScriptedReceiver()
            other.send(RawFrame.opening + RawFrame.head(1, flags: 5) + RawFrame.head(3) + bytes)
            let last = try #require(other.frames().last)
            #expect(last.type == 7 && last.word() == 3 && last.word(at: 4) != 0)
        }
        peer.send(RawFrame.opening + RawFrame.head(5, flags: 5))
        _ = peer.frames()
        peer.session.fail(.enhanceYourCalm)
        peer.send(RawFrame.head(7))
        #expect(
            peer.frames() == [
                SentFrame(type: 7, flags: 0, stream: 0, payload: RawFrame.word(5) + RawFrame.word(11))
            ])
    }

    /// A client's frames that are too many for one of libnghttp2's own protections.
    enum Flood: CaseIterable {
        case unsentAcknowledgements, settings, continuations, resets

        var frames: [UInt8] {
            switch self {
            case .unsentAcknowledgements:
                let ping = RawFrame.bytes(6, payload: [UInt8](repeating: 0, count: 8))
                return [[UInt8]](repeating: ping, count: 201).flatMap { $0 }
            case .settings:
                let entry: [UInt8] = [0xF0, 0xF0, 0, 0, 0, 1]
                return RawFrame.bytes(4, payload: [[UInt8]](repeating: entry, count: 33).flatMap { $0 })
            case .continuations:
                let more = RawFrame.bytes(9, stream: 1)
                return RawFrame.head(1, flags: 1) + [[UInt8]](repeating: more, count: 9).flatMap { $0 }
            case .resets:
                return stride(from: Int32(1), to: 25, by: 2).flatMap { stream -> [UInt8] in
                    RawFrame.head(stream) + RawFrame.bytes(3, stream: stream, payload: RawFrame.word(8))
                }
            }
        }
    }

    @Test("libnghttp2's own protections end a connection", arguments: Flood.allCases)
    func protections(flood: Flood) throws {
        let peer = try ScriptedReceiver(HTTP2SessionLimits(resets: 10, resetsPerSecond: 1))
        peer.send(RawFrame.opening + flood.frames)
        let last = try #require(peer.frames().last)
        #expect(last.type == 7 && last.word(at: 4) != 0)
    }

    @Test("A bad preface, and no SETTINGS behind it, are errors of the connection")
    func preface() throws {
        for bytes in [Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8), RawFrame.preface + RawFrame.head(1)] {
            let peer = try ScriptedReceiver()
            peer.send(bytes)
            let last = try #require(peer.frames().last)
            #expect(last.type == 7 && last.word(at: 4) == 1)
            #expect(peer.events.isEmpty)
        }
    }
}

/// Records what the session reports, and answers with what it is told to.
private final class ScriptedReceiver: HTTP2SessionReceiver {
    private var made: HTTP2Session?
    var session: HTTP2Session {
        guard let made else { preconditionFailure("made in init") }
        return made
    }
    private(set) var events: [String] = []
    var bodies: [Int32: ByteBuffer] = [:]
    var trailers: [(String, String)] = []
    /// The sizes of the buffers that went out.
    private(set) var parts: [Int] = []

    init(_ limits: HTTP2SessionLimits = HTTP2SessionLimits(), leastPart: Int = .max) throws {
        made = try HTTP2Session(limits, leastPart: leastPart, receiver: self)
    }

    func send(_ bytes: [UInt8]) {
        if let error = session.receive(ByteBuffer(bytes: bytes)) { session.fail(error) }
    }

    /// The frames of one write.
    func write() -> [SentFrame] {
        var bytes: [UInt8] = []
        session.produce()
        session.takeOutput { bytes += $0.readableBytesView }
        return SentFrame.read(bytes)
    }

    func frames() -> [SentFrame] {
        var bytes: [UInt8] = []
        parts = []
        repeat {
            session.produce()
            guard session.outputBytes > 0 else { break }
            session.takeOutput {
                parts.append($0.readableBytes)
                bytes += $0.readableBytesView
            }
        } while true
        return SentFrame.read(bytes)
    }

    func answer(_ stream: Int32, _ fields: [(String, String)]) {
        let list = HTTP2FieldList()
        for (name, value) in fields { list.append(name, value) }
        session.send(stream, list)
    }

    func headBegins(_ stream: Int32, areTrailers: Bool) {
        events.append(areTrailers ? "trailers \(stream)" : "head \(stream)")
    }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        events.append(String(decoding: name, as: UTF8.self) + "=" + String(decoding: value, as: UTF8.self))
        return true
    }

    func headEnds(_ stream: Int32, endStream: Bool) {
        events.append("head ends \(stream)\(endStream ? ", the last" : "")")
    }
    func body(_ stream: Int32, _ part: ByteBuffer) { events.append("body \(stream) \(String(buffer: part))") }

    func dataEnds(_ stream: Int32, isEmpty: Bool, endStream: Bool) {
        events.append("data ends \(stream)\(endStream ? ", the last" : "")")
    }

    func wasReset(_ stream: Int32, code: UInt32) { events.append("reset \(stream) \(code)") }
    func pingCameBack(_ payload: UInt64) { events.append("ping \(payload)") }
    func streamCloses(_ stream: Int32) { events.append("closes \(stream)") }

    func nextBody(_ stream: Int32, atMost: Int) -> HTTP2BodyStep? {
        guard let body = bodies[stream] else { return nil }
        let count = min(atMost, body.readableBytes)
        guard count == body.readableBytes else { return HTTP2BodyStep(count: count, next: .body) }
        guard !trailers.isEmpty else { return HTTP2BodyStep(count: count, next: .end) }
        let list = HTTP2FieldList()
        for (name, value) in trailers { list.append(name, value) }
        session.sendTrailers(stream, list)
        return HTTP2BodyStep(count: count, next: .other)
    }

    func takeBody(_ stream: Int32, atMost: Int) -> ByteBuffer {
        bodies[stream]?.readSlice(length: atMost) ?? ByteBuffer()
    }
    func dataWasWritten(_ stream: Int32, _ count: Int) {}
    func endWasWritten(_ stream: Int32) {}
    func resetWasWritten(_ stream: Int32, code: UInt32) {}
    func goAwayWasWritten(code: UInt32) {}
}
