// Compiled by run.sh into one module with Sources/HTTP2.
import NIOCore

/// Answers what the session reports, and checks that it reports things in an order that makes sense.
private final class Receiver: HTTP2SessionReceiver {
    private var made: HTTP2Session?
    private var open: Set<Int32> = []
    /// The stream whose head is coming.
    private var reading: Int32?
    private var left: [Int32: Int] = [:]
    private(set) var resets = 0
    private(set) var fieldBytes = 0

    private static let mostFieldBytes = 1 << 20

    var session: HTTP2Session {
        guard let made else { fatalError("a session without a receiver") }
        return made
    }

    init() {
        let limits = HTTP2SessionLimits(streams: 8, headerListSize: 4096, resets: 8, resetsPerSecond: 1)
        made = try? HTTP2Session(limits, leastPart: 100, receiver: self)
    }

    func headBegins(_ stream: Int32, areTrailers: Bool) {
        guard reading == nil || !areTrailers else { fatalError("trailers within a head") }
        guard areTrailers == open.contains(stream) else { fatalError("a head of stream \(stream)") }
        open.insert(stream)
        reading = stream
    }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        guard reading != nil else { fatalError("a field of no head") }
        fieldBytes += name.count + value.count
        return fieldBytes < Self.mostFieldBytes
    }

    func headEnds(_ stream: Int32, endStream: Bool) {
        guard reading == stream else { fatalError("another head's end") }
        reading = nil
        guard left[stream] == nil else { return }
        left[stream] = 300
        let list = HTTP2FieldList()
        list.append(":status", "200")
        switch stream % 3 {
        case 0: session.sendWhole(stream, list)
        case 1: session.send(stream, list)
        default: session.reset(stream, .cancel)
        }
    }

    func body(_ stream: Int32, _ part: ByteBuffer) {
        guard open.contains(stream), part.readableBytes > 0 else { fatalError("a body of stream \(stream)") }
        session.consumed(part.readableBytes, of: stream)
    }

    func dataEnds(_ stream: Int32, isEmpty: Bool, endStream: Bool) {
        guard open.contains(stream) else { fatalError("DATA of stream \(stream)") }
    }

    func wasReset(_ stream: Int32, code: UInt32) {}
    func pingCameBack(_ payload: UInt64) {}

    func streamCloses(_ stream: Int32) {
        guard open.remove(stream) != nil else { fatalError("stream \(stream) closes twice") }
        left[stream] = nil
    }

    func nextBody(_ stream: Int32, atMost: Int) -> HTTP2BodyStep? {
        guard let rest = left[stream] else { fatalError("no body on stream \(stream)") }
        let count = min(rest, atMost, 128)
        return HTTP2BodyStep(count: count, next: count == rest ? .end : .body)
    }

    func takeBody(_ stream: Int32, atMost: Int) -> ByteBuffer {
        left[stream]? -= atMost
        return ByteBuffer(repeating: 7, count: atMost)
    }

    func dataWasWritten(_ stream: Int32, _ count: Int) {}
    func endWasWritten(_ stream: Int32) {}
    func resetWasWritten(_ stream: Int32, code: UInt32) { resets += 1 }
    func goAwayWasWritten(code: UInt32) {}
}

/// Whether these are whole frames, none larger than a client must take (RFC 9113 §4.2).
private func areFrames(_ bytes: ByteBuffer) -> Bool {
    var bytes = bytes
    while let word = bytes.readInteger(as: UInt32.self) {
        let length = Int(word >> 8)
        guard length <= 16_384, bytes.readSlice(length: 5 + length) != nil else { return false }
    }
    return bytes.readableBytes == 0
}

/// Input: how many bytes of a client come at once, and then these, behind the preface and SETTINGS.
@_cdecl("fuzzHTTP2Session")
public func fuzzHTTP2Session(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    guard count > 1 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    let receiver = Receiver()
    let session = receiver.session
    var bytes = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0")
    bytes.writeBytes(input.dropFirst())
    var sent = ByteBuffer()
    while let part = bytes.readSlice(length: min(bytes.readableBytes, 1 + Int(input[0]))), part.readableBytes > 0 {
        if let error = session.receive(sharing: part) { session.fail(error) }
        session.produce()
        session.takeOutput { sent.writeImmutableBuffer($0) }
        session.releaseIdleMemory()
        guard !session.hasFailed else { break }
    }
    guard areFrames(sent) else { fatalError("no frames were sent") }
    // The session holds its receiver unowned.
    withExtendedLifetime(receiver) {}
    return 0
}
