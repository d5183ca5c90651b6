import HTTP1
import NIOCore
import NIOEmbedded
import Pipeline

@testable import Listener

/// A frame that the gateway sent.
struct SentFrame {
    let type: UInt8
    let flags: UInt8
    let stream: Int32
    let payload: [UInt8]

    /// The number in four bytes of the payload: an error code, a window's increment.
    func word(at offset: Int = 0) -> UInt32 { payload[offset..<(offset + 4)].reduce(0) { $0 << 8 | UInt32($1) } }
}

/// One HTTP/2 connection without a socket: bytes in, frames out, a clock that only the test moves.
final class HTTP2Wire {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let connections: ConnectionSet
    let service: ScriptedService
    let connection: HTTP2Connection
    private var output = ByteBuffer()
    /// The frames that came without being asked for.
    private(set) var first: [SentFrame] = []
    /// How many buffers were written since the frames were last taken.
    private(set) var writes = 0
    /// The preface and an empty SETTINGS frame.
    let opening = Array(RawFrame.opening(RawFrame.bytes(4)).readableBytesView)

    init(_ onBegin: @escaping (ScriptedExchange) -> Void = { _ in }) throws {
        service = ScriptedService(onBegin: onBegin)
        connections = ConnectionSet(eventLoop: loop)
        channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "203.0.113.8", port: 50_000)).wait()
        let shared = SharedListenerSettings(ListenerSettings(host: "127.0.0.1", port: 0, http2: HTTP2Limits()))
        let (service, flushes) = (service, connections.flushes)
        connection = try HTTP2Connection(
            shared, HTTP2Limits(), service: service, connections: connections, peer: "203.0.113.7", scheme: "http"
        ) { ExchangeHandler(service, shared, codec: $0, flushes: flushes, peer: "203.0.113.7") }
        try channel.pipeline.syncOperations.addHandlers([HalfClose(), connection])
        first = try take()
    }

    deinit {
        connections.stop()
        // Closed by the test, or by the code under test, already: then there is nothing left to end.
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// The client sends this as one arrival.
    func send(_ bytes: [UInt8]) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
    }

    /// The frames that the client got since it was last asked, when the tick is over.
    func take() throws -> [SentFrame] {
        loop.run()
        writes = 0
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            writes += 1
            output.writeImmutableBuffer(bytes)
        }
        var frames: [SentFrame] = []
        while let word = output.readInteger(as: UInt32.self), let flags = output.readInteger(as: UInt8.self),
            let stream = output.readInteger(as: Int32.self), let payload = output.readBytes(length: Int(word >> 8))
        {
            frames.append(
                SentFrame(type: UInt8(truncatingIfNeeded: word), flags: flags, stream: stream, payload: payload))
        }
        return frames
    }

    /// Whether the client takes what is written to it.
    func setWritable(_ isWritable: Bool) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    func disconnect() throws {
        channel.close(promise: nil)
        loop.run()
    }

    /// HEADERS with a block of literals without indexing, each shorter than 127 bytes (RFC 7541 §6.2.2).
    func head(_ stream: Int32, _ fields: [(String, String)], end: Bool) -> [UInt8] {
        let block = fields.flatMap { name, value -> [UInt8] in
            [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        return Array(RawFrame.bytes(1, flags: end ? 5 : 4, stream: stream, payload: block).readableBytesView)
    }
}

/// Takes a half close, which an embedded channel does not know.
private final class HalfClose: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output { promise?.succeed() } else { context.close(mode: mode, promise: promise) }
    }
}
