import Glibc
import NIOCore
import Sockets
import Testing

/// A server on loops of its own.
struct Server {
    let group: SocketEventLoopGroup
    let address: SocketAddress
    private let socket: NIOLoopBound<ListeningSocket>
    private let accepted: AsyncStream<Accepted>

    struct Accepted: Sendable {
        let channel: SocketChannel
        let recorder: Recorder

        func onLoop<Value: Sendable>(
            _ body: @escaping @Sendable (SocketChannel) throws -> Value
        ) async throws -> Value {
            try await channel.loop.submit { try body(channel) }.get()
        }

        func wait(until test: @escaping @Sendable (Recorder.State) -> Bool) async throws {
            try await recorder.wait(until: test).get()
        }

        var events: [String] {
            get async throws { try await onLoop { _ in recorder.current.events } }
        }
    }

    private final class OpenGate: AcceptGate {
        var burst: Int { 16 }
        func admits(_ socket: any PausableListening) -> Bool { true }
        func acceptFailed(_ code: Int32, _ socket: any PausableListening) {}
        func closed() {}
    }

    /// Runs a test with a server, and ends everything afterwards.
    ///
    /// - Parameters:
    ///   - reads: false: bytes wait until the test asks for them.
    ///   - onRead: called for each read, on the loop.
    static func with(
        host: String = "127.0.0.1", loops: Int = 1, reads: Bool = true,
        onRead: @escaping @Sendable (ChannelHandlerContext, ByteBuffer) -> Void = { _, _ in },
        _ body: (Server) async throws -> Void
    ) async throws {
        let group = try SocketEventLoopGroup(count: loops)
        let (accepted, continuation) = AsyncStream<Accepted>.makeStream()
        let (socket, address) = try await ListeningSocket.bind(host: host, port: 0, group: group) {
            OpenGate()
        } initialize: { channel in
            let recorder = Recorder(on: channel.loop, onRead: onRead)
            if !reads { try channel.syncOptions?.setOption(.autoRead, value: false) }
            try channel.pipeline.syncOperations.addHandler(recorder)
            continuation.yield(Accepted(channel: channel, recorder: recorder))
            return nil
        }
        try await socket.eventLoop.submit { socket.value.startAccepting() }.get()
        let result: Result<Void, any Error>
        do {
            try await body(Server(group: group, address: address, socket: socket, accepted: accepted))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        try await group.shutdownGracefully()
        try result.get()
    }

    func connect() async throws -> (Peer, Accepted) {
        let peer = try Peer(address)
        for await connection in accepted { return (peer, connection) }
        throw TooLong()
    }

    func close() async throws {
        try await socket.eventLoop.submit { [socket] in socket.value.close() }.get()
    }
}

/// The other end of a connection: a plain socket that waits for 50 seconds at most.
final class Peer: Sendable {
    let descriptor: Int32

    init(_ address: SocketAddress) throws {
        descriptor = socket(address.protocol.rawValue, Int32(SOCK_STREAM.rawValue), 0)
        var patience = timeval(tv_sec: 50, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        let code = address.withSockAddr { Glibc.connect(descriptor, $0, socklen_t($1)) }
        guard code == 0 else { throw IOError(errnoCode: errno, reason: "connect") }
    }

    deinit { Glibc.close(descriptor) }

    var port: UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        withUnsafeMutablePointer(to: &storage) {
            _ = $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        // The port has the same place with IPv4 and IPv6.
        return withUnsafeBytes(of: storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }

    func send(_ bytes: [UInt8]) throws {
        var left = bytes[...]
        while !left.isEmpty {
            let count = left.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { throw IOError(errnoCode: errno, reason: "send") }
            left = left.dropFirst(count)
        }
    }

    /// - Returns: as many bytes, or fewer at the connection's end.
    func receive(_ count: Int) throws -> [UInt8] {
        var bytes: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 64 << 10)
        while bytes.count < count {
            let received = recv(descriptor, &room, min(room.count, count - bytes.count), 0)
            guard received >= 0 else { throw IOError(errnoCode: errno, reason: "recv") }
            if received == 0 { break }
            bytes += room.prefix(received)
        }
        return bytes
    }

    func endOutput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Closes with a reset.
    func reset() {
        var now = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
        // The descriptor stays, so that no other thread gets its number before the end.
        var unspecified = sockaddr()
        unspecified.sa_family = sa_family_t(AF_UNSPEC)
        _ = Glibc.connect(descriptor, &unspecified, socklen_t(MemoryLayout<sockaddr>.size))
    }
}
