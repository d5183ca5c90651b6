internal import NIOCore
internal import NIOPosix

/// The least that a request costs on SwiftNIO: a server of one event loop that writes the same response to each request, and
/// reads no more than the head's last bytes. deploy/loadtest/floor.sh runs it beside nginx.
///
///     floor-benchmark PORT BODY [--close]      --close: closes each connection after its response
@main
struct FloorBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, let port = Int(arguments[1]) else {
            print("usage: floor-benchmark PORT BODY [--close]")
            return
        }
        let (body, closes) = (arguments[2], arguments.contains("--close"))
        let response = ByteBuffer(
            string: """
                HTTP/1.1 200 OK\r
                Content-Type: application/json\r
                Content-Length: \(body.utf8.count)\r
                Connection: \(closes ? "close" : "keep-alive")\r
                \r
                \(body)
                """)
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 1))
            .serverChannelOption(.backlog, value: 4096)
            .serverChannelOption(.maxMessagesPerRead, value: 64)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(FixedResponse(response, closes: closes))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        try await server.closeFuture.get()
    }
}

/// Takes requests without a body, one at a time.
private final class FixedResponse: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let end = Array("\r\n\r\n".utf8)

    private let response: ByteBuffer
    private let closes: Bool

    init(_ response: ByteBuffer, closes: Bool) {
        self.response = response
        self.closes = closes
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard unwrapInboundIn(data).readableBytesView.suffix(Self.end.count).elementsEqual(Self.end) else { return }
        context.writeAndFlush(wrapOutboundOut(response), promise: nil)
        if closes { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
