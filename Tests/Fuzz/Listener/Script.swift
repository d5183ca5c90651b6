/// A client's actions on one connection, in the order of the input's bytes.
///
/// The input's first byte says how the client's bytes are cut into writes, and what the connection is; see
/// ``Script/init(_:)``. The rest is sent as it is, except for what follows an escape byte:
///
/// | bytes | meaning |
/// |---|---|
/// | `F5 00` | the byte F5 itself |
/// | `F5 01` | ends the write |
/// | `F5 02 n` | sends what was sent since the mark, n × n + 1 times more |
/// | `F5 03` | the mark; it is at the beginning until then |
/// | `F5 04 n` | lets n quarters of a second pass |
/// | `F5 05` | the client ends its side |
/// | `F5 06 n` | the client stops reading (n odd) or reads on (n even); the service takes more of bodies |
/// | `F5 07 n b` | sends the byte b 64 × n times |
/// | `F5 08 t f` | begins an HTTP/2 frame of type t with flags f on stream 0; its length is filled in |
/// | `F5 09 t f` | the same on the stream opened last |
/// | `F5 0A t f` | the same on a new stream; sent again, it is another new one |
/// | `F5 0B` | ends the frame; the next frame does as well |
///
/// A few bytes become megabytes that way: the fuzzer finds what is stored without a limit, or costs more than it
/// should.
struct Script {
    /// Bytes to be sent, which may be sent several times.
    struct Block {
        var bytes: [UInt8] = []
        /// Where the number of a stream is to be written, and whether it is a new one.
        var streams: [(offset: Int, isNew: Bool)] = []
    }

    enum Step {
        case send(Block, times: Int)
        case cut
        case wait(quarters: Int)
        case end
        case setReading(Bool)
    }

    private(set) var steps: [Step] = []
    /// The most bytes of one write.
    let writeSize: Int
    /// Whether a trusted proxy is the client, which begins with a PROXY header.
    let isProxied: Bool

    static let escape: UInt8 = 0xF5

    /// - Parameter input: its first byte's low three bits select the size of a write, bit 3 a trusted proxy.
    init(_ input: [UInt8]) {
        let first = input.first ?? 0
        writeSize = [65_536, 60_000, 16_391, 4_093, 1_021, 127, 13, 1][Int(first & 7)]
        isProxied = first & 8 != 0
        var reader = ScriptReader(input.dropFirst())
        reader.read()
        steps = reader.steps
    }

    /// One write of these bytes.
    init(sending bytes: [UInt8]) {
        writeSize = 65_536
        isProxied = false
        steps = [.send(Block(bytes: bytes), times: 1)]
    }

    /// All that is sent, as one: at most `limit` bytes.
    func bytes(atMost limit: Int) -> [UInt8] {
        var result: [UInt8] = []
        for case .send(let block, let times) in steps {
            for _ in 0..<times where result.count < limit { result += block.bytes.prefix(limit - result.count) }
        }
        return result
    }
}

private struct ScriptReader {
    private(set) var steps: [Script.Step] = []
    private var rest: ArraySlice<UInt8>
    /// Bytes read since the last step.
    private var pending = Script.Block()
    /// Bytes read since the mark.
    private var block = Script.Block()
    /// Where the frame that has not ended begins in ``pending``.
    private var frame: Int?

    private static let headerLength = 9
    /// The most bytes that are repeated as one.
    private static let longestBlock = 256 << 10

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    private mutating func next() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func read() {
        while let byte = rest.popFirst() {
            if byte == Script.escape { readOperation(next()) } else { pending.bytes.append(byte) }
        }
        flush()
    }

    private mutating func readOperation(_ operation: UInt8) {
        switch operation {
        case 0: pending.bytes.append(Script.escape)
        case 1: add(.cut)
        case 2:
            flush()
            let count = Int(next())
            if !block.bytes.isEmpty { steps.append(.send(block, times: count * count + 1)) }
        case 3:
            flush()
            block = Script.Block()
        case 4: add(.wait(quarters: Int(next())))
        case 5: add(.end)
        case 6: add(.setReading(next() & 1 == 0))
        case 7:
            let count = 64 * Int(next())
            pending.bytes += [UInt8](repeating: next(), count: count)
        case 8: beginFrame(onStream: nil)
        case 9: beginFrame(onStream: false)
        case 10: beginFrame(onStream: true)
        case 11: endFrame()
        default: break
        }
    }

    private mutating func add(_ step: Script.Step) {
        flush()
        steps.append(step)
    }

    /// - Parameter isNew: whether it opens a stream; nil for stream 0.
    private mutating func beginFrame(onStream isNew: Bool?) {
        endFrame()
        let start = pending.bytes.count
        frame = start
        pending.bytes += [0, 0, 0, next(), next(), 0, 0, 0, 0]
        if let isNew { pending.streams.append((start + 5, isNew)) }
    }

    private mutating func endFrame() {
        guard let start = frame else { return }
        frame = nil
        let length = pending.bytes.count - start - Self.headerLength
        pending.bytes[start] = UInt8(truncatingIfNeeded: length >> 16)
        pending.bytes[start + 1] = UInt8(truncatingIfNeeded: length >> 8)
        pending.bytes[start + 2] = UInt8(truncatingIfNeeded: length)
    }

    private mutating func flush() {
        endFrame()
        guard !pending.bytes.isEmpty else { return }
        steps.append(.send(pending, times: 1))
        let start = block.bytes.count
        if start + pending.bytes.count <= Self.longestBlock {
            block.bytes += pending.bytes
            block.streams += pending.streams.map { ($0.offset + start, $0.isNew) }
        }
        pending = Script.Block()
    }
}
