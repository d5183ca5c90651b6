import HTTP1
import HTTPTypes
import NIOCore
import Testing

@testable import Upstream

@Suite("Upstream: what is to be sent")
struct OutboundBytesTests {
    private static func request(_ framing: BodyFraming) throws -> ForwardedRequest {
        try ForwardedRequestTests.head(.post, "/", [:], framing)
    }

    /// All that waits, as one sendmsg(2) would take it.
    private static func text(_ bytes: OutboundBytes) -> String {
        String(buffer: bytes.waiting) + bytes.later.map { String(buffer: $0) }.joined()
    }

    @Test("Several calls send the whole", arguments: 0...12)
    func parts(sent: Int) throws {
        let request = try Self.request(.length(9))
        let head = String(buffer: request.head)
        var bytes = OutboundBytes(request)
        for part in ["abc", "", "defg", "hi"] { bytes.append(ByteBuffer(string: part)) }
        // Small ones are one buffer.
        #expect(bytes.later.count == 1)
        bytes.end()
        // The whole by two sends, the first of which stops anywhere in the body, and before and behind it.
        let first = head.utf8.count - 2 + sent
        bytes.sent(min(first, head.utf8.count + 9))
        #expect(Self.text(bytes) == String(Substring((head + "abcdefghi").utf8.dropFirst(first))))
        #expect(bytes.isAllSent == (sent >= 11))
        bytes.sent(max(0, 11 - sent))
        #expect(bytes.isAllSent)
        #expect(Self.text(bytes) == "")
    }

    @Test("Large parts stay the buffers they were, and small ones between them are one")
    func order() throws {
        var bytes = OutboundBytes(try Self.request(.length(1 << 20)))
        let sizes = [1 << 10, 1, 2, 1 << 10, 2 << 10, 3, (1 << 10) - 1, 5 << 10]
        let parts = sizes.enumerated().map { ByteBuffer(repeating: UInt8($0), count: $1) }
        bytes.sent(bytes.waiting.readableBytes)
        for part in parts { bytes.append(part) }
        #expect(Self.address(bytes.waiting) == Self.address(parts[0]))
        #expect(bytes.later.map(\.readableBytes) == [3, 1 << 10, 2 << 10, (1 << 10) + 2, 5 << 10])
        for (position, part) in [(1, 3), (2, 4), (4, 7)] {
            #expect(Self.address(bytes.later[position]) == Self.address(parts[part]))
        }
        var whole = ByteBuffer()
        for part in parts { whole.writeImmutableBuffer(part) }
        var sent = ByteBuffer()
        while !bytes.isEmpty {
            let first = bytes.waiting.readableBytes
            sent.writeImmutableBuffer(bytes.waiting)
            bytes.sent(first)
        }
        #expect(sent == whole)
    }

    @Test("A part that has left does not hold the memory of what was received with it", arguments: [false, true])
    func release(isSecond: Bool) throws {
        var bytes = OutboundBytes(try Self.request(.length(2000)))
        if !isSecond { bytes.sent(bytes.waiting.readableBytes) }
        var received = ByteBuffer(repeating: 1, count: 64 << 10)
        let address = Self.address(received)
        bytes.append(try #require(received.getSlice(at: 10, length: 2000)))
        bytes.sent(bytes.waiting.readableBytes + (isSecond ? 2000 : 0))
        #expect(bytes.isEmpty)
        received.setInteger(UInt8(2), at: 0)
        #expect(Self.address(received) == address)
    }

    private static func address(_ buffer: ByteBuffer) -> UnsafeRawPointer? {
        buffer.withUnsafeReadableBytes { $0.baseAddress }
    }

    @Test("A part that waits for a slow backend is copied, once, and nothing is lost or changes its place")
    func keep() throws {
        var bytes = OutboundBytes(try Self.request(.length(9)))
        bytes.sent(bytes.waiting.readableBytes)
        let received = ByteBuffer(string: String(repeating: "-", count: 64 << 10) + "abcdef")
        // The first is shared however small it is: alone, it may leave at once.
        for start in [0, 3] {
            bytes.append(try #require(received.getSlice(at: (64 << 10) + start, length: 3)))
        }
        bytes.sent(1)
        bytes.keep()
        #expect((Self.text(bytes), bytes.later.count) == ("bcdef", 0))
        #expect(bytes.waiting.storageCapacity < 1 << 10)
        let address = Self.address(bytes.waiting)
        bytes.keep()
        #expect(Self.address(bytes.waiting) == address)
        // Later parts are kept with it.
        bytes.append(ByteBuffer(string: "ghi"))
        bytes.keep()
        #expect((Self.text(bytes), bytes.later.count) == ("bcdefghi", 0))
        bytes.sent(8)
        bytes.end()
        #expect(bytes.isAllSent)
    }

    @Test("Chunks wait in one buffer, which begins anew when all has left")
    func chunks() throws {
        var bytes = OutboundBytes(try Self.request(.chunked))
        bytes.sent(bytes.waiting.readableBytes)
        for part in ["a", "bc"] { bytes.append(ByteBuffer(string: part)) }
        #expect((Self.text(bytes), bytes.later.count) == ("1\r\na\r\n2\r\nbc\r\n", 0))
        bytes.sent(6)
        bytes.keep()
        bytes.append(ByteBuffer(string: "d"))
        bytes.end()
        #expect(Self.text(bytes) == "2\r\nbc\r\n1\r\nd\r\n0\r\n\r\n")
    }

    @Test("So many bytes are enough for one call")
    func much() throws {
        var bytes = OutboundBytes(try Self.request(.length(1 << 20)))
        bytes.sent(bytes.waiting.readableBytes)
        let part = ByteBuffer(repeating: 1, count: 16 << 10)
        for count in 1...4 {
            bytes.append(part)
            #expect(bytes.isMuch == (count == 4))
        }
        bytes.sent(1)
        #expect(!bytes.isMuch)
    }
}
