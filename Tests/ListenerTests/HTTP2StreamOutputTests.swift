import Glibc
import NIOCore
import Testing

@testable import Listener

@Suite("A response's body on an HTTP/2 stream")
struct HTTP2StreamOutputTests {
    /// Processor time of this thread.
    private static func time(_ body: () -> Void) -> Duration {
        func now() -> Duration {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
        let start = now()
        body()
        return now() - start
    }

    /// Stores so many parts of one byte, and takes them.
    ///
    /// - Returns: how many came.
    private static func pass(_ count: Int) -> Int {
        let part = ByteBuffer(string: "x")
        var output = HTTP2StreamOutput()
        for _ in 0..<count { output.append(part) }
        return (0..<count).reduce(0) { sum, _ in sum + output.take(atMost: 16 << 10).readableBytes }
    }

    @Test("A part of many takes about as long as one of few")
    func manyParts() {
        // One good try is enough, since others use the machine too. With quadratic time none is good.
        let isCheap = (0..<3).contains { _ in
            var passed = 0
            let few = Self.time { for _ in 0..<5_000 { passed += Self.pass(100) } }
            let many = Self.time { passed += Self.pass(500_000) }
            #expect(passed == 1_000_000)
            return many < few * 3 + .milliseconds(10)
        }
        #expect(isCheap)
    }

    @Test("Small parts do not retain the buffers that they were received in")
    func smallParts() {
        var output = HTTP2StreamOutput()
        for number in 0..<40_000 {
            var received = ByteBuffer(repeating: UInt8(truncatingIfNeeded: number), count: 2)
            received.reserveCapacity(1 << 10)
            output.append(received)
        }
        var (taken, parts, retained) = ([UInt8](), 0, 0)
        while true {
            let part = output.take(atMost: 64 << 10)
            guard part.readableBytes > 0 else { break }
            taken += part.readableBytesView
            (parts, retained) = (parts + 1, retained + part.storageCapacity)
        }
        #expect(taken == (0..<40_000).flatMap { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 2) })
        #expect(parts < 10 && retained < 256 << 10)
    }

    @Test("A copy that is taken from and appended to for long does not grow")
    func endlessCopy() {
        var output = HTTP2StreamOutput()
        for _ in 0..<2 { output.append(ByteBuffer(string: "xy")) }
        for _ in 0..<100_000 {
            output.append(ByteBuffer(string: "xy"))
            let part = output.take(atMost: 2)
            #expect(part.readableBytes == 2 && part.storageCapacity <= 64 << 10)
        }
    }

    @Test("Parts come in their order, whole or in pieces, while others are added")
    func order() {
        var output = HTTP2StreamOutput()
        var (sent, taken) = ("", "")
        for number in 0..<500 {
            output.append(ByteBuffer(string: "\(number),"))
            sent += "\(number),"
            if number % 3 > 0 { taken += String(buffer: output.take(atMost: 3)) }
        }
        output.hasEnded = true
        while !output.isEnd { taken += String(buffer: output.take(atMost: 16 << 10)) }
        #expect(taken == sent)
    }
}
