import Glibc
import NIOCore
import Testing

@testable import Sockets

@Suite("Sockets: pending writes")
struct PendingWritesTests {
    /// Sends everything that is flushed to one end of a pair of sockets, and returns what comes out at the other.
    private static func send(_ writes: inout PendingWrites, after each: ([EventLoopPromise<Void>], Int) -> Void) throws
        -> [UInt8]
    {
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &pair) == 0)
        defer { for descriptor in pair { close(descriptor) } }
        let parts = IOVectors()
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while writes.isFlushed {
            if case .sent(let count) = writes.send(to: pair[0], by: parts) {
                let sent = writes.remove(count)
                each(sent, received.count + count)
            }
            while true {
                let count = read(pair[1], &buffer, buffer.count)
                guard count > 0 else { break }
                received += buffer[..<count]
            }
        }
        return received
    }

    @Test("Many small writes take memory for their bytes, and leave in order", arguments: [true, false])
    func small(flushesEach: Bool) throws {
        var writes = PendingWrites()
        var expected: [UInt8] = []
        for number in 0..<32_000 {
            let bytes = [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)]
            writes.append(ByteBuffer(bytes: bytes), nil)
            expected += bytes
            if flushesEach { writes.flush() }
        }
        #expect(writes.storedCount < 64 && writes.bytes == 64_000)
        writes.flush()
        #expect(try Self.send(&writes) { _, _ in } == expected)
        #expect(writes.bytes == 0)
    }

    @Test("A promise is kept once the bytes of its write have been sent, and not before")
    func promises() async throws {
        let group = try SocketEventLoopGroup(count: 1)
        var writes = PendingWrites()
        var ends: [Int] = []
        var size = 0
        for number in 0..<500 {
            let buffer = ByteBuffer(repeating: UInt8(number & 255), count: number.isMultiple(of: 50) ? 20_000 : 3)
            size += buffer.readableBytes
            let promise = number.isMultiple(of: 7) ? group.next().makePromise(of: Void.self) : nil
            if promise != nil { ends.append(size) }
            writes.append(buffer, promise)
        }
        writes.flush()
        var kept = 0
        let received = try Self.send(&writes) { promises, sent in
            for promise in promises { promise.succeed() }
            kept += promises.count
            #expect(kept == ends.count { $0 <= sent })
        }
        #expect(received.count == size && kept == ends.count)
        try await group.shutdownGracefully()
    }
}
