import Glibc
import NIOCore
import Sockets
import Testing

@Suite("Sockets: connections", .timeLimit(.minutes(10)))
struct SocketChannelTests {
    static let echo: @Sendable (ChannelHandlerContext, ByteBuffer) -> Void = { context, bytes in
        context.writeAndFlush(NIOAny(bytes), promise: nil)
    }

    static func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }

    @Test("Bytes come back as they were sent, few and many", arguments: [1, 2048, 2049, 65_536, 3_000_000])
    func echoes(_ count: Int) async throws {
        try await Server.with(onRead: Self.echo) { server in
            let (peer, connection) = try await server.connect()
            let sent = Self.pattern(count)
            async let back = Task.detached { try peer.receive(count) }.value
            try peer.send(sent)
            #expect(try await back == sent)
            peer.endOutput()
            try await connection.wait { $0.events.last == "inactive" }
            #expect(try peer.receive(1) == [])
        }
    }

    @Test("A connection knows its client", arguments: ["127.0.0.1", "::1"])
    func peers(_ host: String) async throws {
        try await Server.with(host: host) { server in
            let (peer, connection) = try await server.connect()
            let expected: PeerAddress = host == "::1" ? .v6(1, port: peer.port) : .v4(0x7F00_0001, port: peer.port)
            #expect(connection.channel.peer == expected)
            #expect(connection.channel.remoteAddress?.ipAddress == host)
            #expect(connection.channel.remoteAddress?.port == Int(peer.port))
        }
    }

    @Test("Connections go to all loops, one after the other")
    func loops() async throws {
        try await Server.with(loops: 3, onRead: Self.echo) { server in
            var peers: [Peer] = []
            var seen: [ObjectIdentifier: Int] = [:]
            for _ in 0..<9 {
                let (peer, connection) = try await server.connect()
                peers.append(peer)
                seen[ObjectIdentifier(connection.channel.loop), default: 0] += 1
                try peer.send([7])
                #expect(try peer.receive(1) == [7])
            }
            #expect(seen.values.sorted() == [3, 3, 3])
        }
    }

    @Test("Bytes that came before anybody wanted them are read when somebody does")
    func pausedReading() async throws {
        try await Server.with(reads: false) { server in
            let (peer, connection) = try await server.connect()
            try peer.send(Self.pattern(5000))
            try await connection.wait { $0.events.contains("active") }
            // By now the kernel has told of them, for another connection is served after them.
            let (second, other) = try await server.connect()
            try await other.onLoop { $0.read() }
            try second.send([1])
            try await other.wait { $0.bytes == [1] }
            #expect(try await connection.onLoop { _ in connection.recorder.current.bytes.isEmpty })
            try await connection.onLoop { try $0.syncOptions?.setOption(.autoRead, value: true) }
            try await connection.wait { $0.bytes == Self.pattern(5000) }
        }
    }

    @Test("One read is one read: what came with it waits until the next")
    func singleReads() async throws {
        try await Server.with(reads: false) { server in
            let (peer, connection) = try await server.connect()
            async let sent: Void = Task.detached { try peer.send(Self.pattern(1_000_000)) }.value
            try await connection.onLoop { $0.read() }
            try await connection.wait { !$0.bytes.isEmpty && $0.events.last == "read complete" }
            let first = try await connection.onLoop { _ in connection.recorder.current.bytes.count }
            // A turn of the loop later there is no more of it.
            #expect(try await connection.onLoop { _ in connection.recorder.current.bytes.count } == first)
            #expect(first < 200_000)
            try await connection.onLoop { try $0.syncOptions?.setOption(.autoRead, value: true) }
            try await connection.wait { $0.bytes.count == 1_000_000 }
            try await sent
            #expect(try await connection.onLoop { _ in connection.recorder.current.bytes } == Self.pattern(1_000_000))
        }
    }

    @Test("The client's end is noticed though nobody reads, with all that came before it")
    func endWhilePaused() async throws {
        try await Server.with(reads: false) { server in
            let (peer, connection) = try await server.connect()
            try peer.send(Self.pattern(50_000))
            peer.endOutput()
            try await connection.wait { $0.events.last == "inactive" }
            #expect(try await connection.onLoop { _ in connection.recorder.current.bytes } == Self.pattern(50_000))
        }
    }

    @Test("Where half closure is allowed, a client that has ended its side still gets bytes")
    func halfClosure() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            try await connection.onLoop { try $0.syncOptions?.setOption(.allowRemoteHalfClosure, value: true) }
            try peer.send([1, 2])
            peer.endOutput()
            try await connection.wait { $0.events.last == "inputClosed" }
            #expect(connection.channel.isActive)
            try await connection.channel.writeAndFlush(ByteBuffer(bytes: [3, 4])).get()
            #expect(try peer.receive(2) == [3, 4])
            // Both sides have ended with this one.
            try await connection.channel.close(mode: .output).get()
            try await connection.wait { $0.events.last == "inactive" }
            #expect(try peer.receive(1) == [])
        }
    }

    @Test("The output ends behind what was flushed, however much that is, and the client can still send")
    func outputEnds() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let sent = Self.pattern(8_000_000)
            let (written, closed) = try await connection.onLoop { channel in
                let written = channel.eventLoop.makePromise(of: Void.self)
                channel.writeAndFlush(ByteBuffer(bytes: sent), promise: written)
                #expect(channel.unsentBytes > 0)
                let closed = channel.close(mode: .output)
                channel.write(ByteBuffer(bytes: [9])).whenSuccess { Issue.record("written behind the end") }
                return (written.futureResult, closed)
            }
            #expect(try peer.receive(sent.count + 1) == sent)
            try await written.get()
            try await closed.get()
            try peer.send([5])
            try await connection.wait { $0.bytes == [5] && $0.events.contains("outputClosed") }
            await #expect(throws: ChannelError.self) { try await connection.channel.close(mode: .output).get() }
        }
    }

    @Test("A connection is not writable while more than 64 KiB wait, and is again below 32 KiB")
    func writability() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let sent = Self.pattern(6_000_000)
            try await connection.onLoop { channel in
                channel.writeAndFlush(ByteBuffer(bytes: sent), promise: nil)
                #expect(!channel.isWritable)
            }
            #expect(try peer.receive(sent.count) == sent)
            try await connection.wait { $0.events.filter { $0.hasSuffix("writable") } == ["not writable", "writable"] }
            #expect(try await connection.onLoop { $0.unsentBytes } == 0)
        }
    }

    @Test("Thousands of small writes leave in order, and their promises are kept in order")
    func manyWrites() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let kept = NIOLoopBoundBox.makeBoxSendingValue([Int](), eventLoop: connection.channel.loop)
            let all = try await connection.onLoop { channel in
                let all = (0..<5000).map { number in
                    channel.write(ByteBuffer(bytes: Self.pattern(number % 50))).map { kept.value.append(number) }
                }
                channel.flush()
                return EventLoopFuture.andAllSucceed(all, on: channel.eventLoop)
            }
            let expected = (0..<5000).flatMap { Self.pattern($0 % 50) }
            #expect(try peer.receive(expected.count) == expected)
            try await all.get()
            #expect(try await connection.onLoop { _ in kept.value } == Array(0..<5000))
        }
    }

    @Test("Bytes behind urgent ones are read as well")
    func urgentBytes() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            try peer.send([1])
            let urgent: [UInt8] = [2]
            #expect(send(peer.descriptor, urgent, 1, Int32(MSG_OOB)) == 1)
            try peer.send([3, 4])
            try await connection.wait { $0.bytes == [1, 3, 4] }
        }
    }

    @Test("Gathered writes leave together behind the work, and the output ends behind them")
    func gathered() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let closed = try await connection.onLoop { channel in
                var closed: EventLoopFuture<Void>?
                channel.gatherSends {
                    channel.writeAndFlush(ByteBuffer(bytes: [1, 2]), promise: nil)
                    channel.writeAndFlush(ByteBuffer(bytes: [3]), promise: nil)
                    closed = channel.close(mode: .output)
                    #expect(channel.unsentBytes == 3)
                }
                #expect(channel.unsentBytes == 0)
                return closed
            }
            #expect(try peer.receive(4) == [1, 2, 3])
            try await closed?.get()
            try peer.send([5])
            try await connection.wait { $0.bytes == [5] }
        }
    }

    @Test("Whoever waits for the output's end may close the whole, and the client gets all that was sent before")
    func closedAtOutputEnd() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let sent = Self.pattern(3_000_000)
            try await connection.onLoop { channel in
                channel.writeAndFlush(ByteBuffer(bytes: sent), promise: nil)
                channel.close(mode: .output).assumeIsolated().whenComplete { _ in channel.close(promise: nil) }
            }
            #expect(try peer.receive(sent.count + 1) == sent)
            try await connection.wait { $0.events.last == "inactive" }
            #expect(try await !connection.events.contains("outputClosed"))
        }
    }

    @Test("Gathered writes leave also where the connection is closed before the work has ended")
    func gatheredAndClosed() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            try await connection.onLoop { channel in
                channel.gatherSends {
                    channel.writeAndFlush(ByteBuffer(bytes: [1, 2]), promise: nil)
                    channel.close(promise: nil)
                }
                #expect(!channel.isActive)
            }
            #expect(try peer.receive(3) == [1, 2])
        }
    }

    @Test("A reset ends the connection with an error, also while nobody reads", arguments: [true, false])
    func resets(_ reads: Bool) async throws {
        try await Server.with(reads: reads) { server in
            let (peer, connection) = try await server.connect()
            try await connection.wait { $0.events.contains("active") }
            peer.reset()
            try await connection.wait { $0.events.last == "inactive" }
            let events = try await connection.events
            #expect(events.contains("error \(ECONNRESET)"), "\(events)")
        }
    }

    @Test("Writes to a connection that is gone fail, and those that wait fail with its end")
    func failedWrites() async throws {
        try await Server.with { server in
            let (peer, connection) = try await server.connect()
            let waiting = try await connection.onLoop {
                $0.writeAndFlush(ByteBuffer(bytes: Self.pattern(9_000_000)))
            }
            try await connection.onLoop { $0.close(promise: nil) }
            await #expect(throws: (any Error).self) { try await waiting.get() }
            await #expect(throws: ChannelError.self) {
                try await connection.channel.writeAndFlush(ByteBuffer(bytes: [1])).get()
            }
            await #expect(throws: ChannelError.self) { try await connection.channel.close().get() }
            try await connection.channel.closeFuture.get()
            withExtendedLifetime(peer) {}
        }
    }

    @Test("A handler may close its connection while it reads")
    func closingInRead() async throws {
        try await Server.with(onRead: { context, _ in context.close(promise: nil) }) { server in
            for _ in 0..<20 {
                let (peer, connection) = try await server.connect()
                try peer.send(Self.pattern(300_000).prefix(20_000) + [])
                try await connection.wait { $0.events.last == "inactive" }
                // Bytes that nobody has read make it a reset.
                _ = try? peer.receive(1)
            }
        }
    }

    @Test("A connection that sends without end leaves the others their turn")
    func fairness() async throws {
        try await Server.with(onRead: { context, bytes in
            if bytes.readableBytes == 1 { context.writeAndFlush(NIOAny(bytes), promise: nil) }
        }) { server in
            let (flood, _) = try await server.connect()
            let (quiet, _) = try await server.connect()
            let flooding = Task.detached {
                let bytes = Self.pattern(1 << 20)
                while !Task.isCancelled { try flood.send(bytes) }
            }
            for number in 0..<50 {
                try quiet.send([UInt8(number)])
                #expect(try quiet.receive(1) == [UInt8(number)])
            }
            flooding.cancel()
            _ = await flooding.result
        }
    }

    @Test("A client connects again at once when the address is bound anew")
    func addressIsFree() async throws {
        var port = 0
        try await Server.with(onRead: Self.echo) { server in
            port = server.address.port ?? 0
            let (peer, _) = try await server.connect()
            try peer.send([1])
            #expect(try peer.receive(1) == [1])
            try await server.close()
            #expect(throws: IOError.self) { try Peer(server.address) }
            try peer.send([2])
            #expect(try peer.receive(1) == [2])
        }
        #expect(port > 0)
    }
}
