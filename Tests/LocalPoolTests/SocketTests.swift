import Encoding
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import Testing

@testable import LocalPool

@Suite("The local pool on a socket")
struct SocketTests {
    typealias Client = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// Runs `body` with the port of a running pool, then stops it and waits until it has stopped.
    func withService(_ body: @Sendable @escaping (Int) async throws -> Void) async throws {
        var configuration = TestPool.configuration
        configuration.port = 0
        configuration.endpoint = nil
        let (ports, announcePort) = AsyncStream.makeStream(of: Int.self)
        let service = try LocalPoolService(
            configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            onBound: { announcePort.yield($0) })
        try await withThrowingTaskGroup { group in
            group.addTask { try await service.run() }
            let port = try #require(await ports.first { _ in true })
            try await body(port)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    func connect(_ port: Int) async throws -> Client {
        try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Client(wrappingChannelSynchronously: channel)
                }
            }
    }

    static func request(_ operation: String, _ body: [UInt8]) -> [HTTPClientRequestPart] {
        let headers: HTTPHeaders = [
            "host": "pool.test", "content-type": "application/x-amz-json-1.1", "content-length": "\(body.count)",
            "x-amz-target": "AWSCognitoIdentityProviderService.\(operation)",
        ]
        return [
            .head(HTTPRequestHead(version: .http1_1, method: .POST, uri: "/", headers: headers)),
            .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil),
        ]
    }

    /// The next whole response.
    static func response(
        _ parts: inout NIOAsyncChannelInboundStream<HTTPClientResponsePart>.AsyncIterator
    ) async throws -> (head: HTTPResponseHead, body: [UInt8]) {
        var head: HTTPResponseHead?
        var body: [UInt8] = []
        while let part = try await parts.next() {
            switch part {
            case .head(let next): head = next
            case .body(let buffer): body += buffer.readableBytesView
            case .end: return (try #require(head), body)
            }
        }
        throw ChannelError.eof
    }

    @Test("One connection carries many requests, also sent without waiting, and the tokens name the port")
    func keepAlive() async throws {
        try await withService { port in
            try await connect(port).executeThenClose { inbound, outbound in
                var parts = inbound.makeAsyncIterator()
                let signIn = TestPool.signIn(TestPool.email).encoded()
                try await outbound.write(
                    contentsOf: Self.request("InitiateAuth", signIn) + Self.request("Nothing", Array("{}".utf8)))
                let first = try await Self.response(&parts)
                #expect(first.head.status == .ok)
                #expect(first.head.headers.first(name: "content-type") == "application/x-amz-json-1.1")
                let tokens = try #require(try JSON.parse(first.body)["AuthenticationResult"]?.objectValue)
                #expect(
                    try claims(tokens.text("AccessToken"))["iss"] == .string("http://127.0.0.1:\(port)/us-east-1_TEST"))

                let second = try await Self.response(&parts)
                #expect(second.head.status == .badRequest)
                #expect(second.head.headers.first(name: "x-amzn-errortype") == "UnknownOperationException:")

                let getUser: JSONObject = ["AccessToken": .string(try tokens.text("AccessToken"))]
                try await outbound.write(contentsOf: Self.request("GetUser", getUser.encoded()))
                #expect(try await Self.response(&parts).head.status == .ok)
            }
        }
    }

    @Test("A body over 64 KiB is refused and the connection closed")
    func tooLarge() async throws {
        try await withService { port in
            try await connect(port).executeThenClose { inbound, outbound in
                var parts = inbound.makeAsyncIterator()
                let body = [UInt8](repeating: 0x20, count: 64 * 1024 + 1)
                try await outbound.write(contentsOf: Self.request("SignUp", body))
                let response = try await Self.response(&parts)
                #expect(response.head.status == .payloadTooLarge)
                #expect(response.head.headers.first(name: "connection") == "close")
                #expect(try await parts.next() == nil)
            }
        }
    }
}
