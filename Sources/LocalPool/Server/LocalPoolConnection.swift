internal import NIOCore
internal import NIOHTTP1

/// A client connection. Requests are processed one after another; each request and response is buffered as a whole.
struct LocalPoolConnection: Sendable {
    typealias Channel = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

    /// Far above the size of any Cognito request.
    static let maximumBodyBytes = 64 * 1024

    let router: LocalPoolRouter

    /// Serves until the client closes the connection or asks to close it, or the task is cancelled.
    func serve(_ channel: Channel) async throws {
        let isFromLoopback = Self.isLoopback(channel.channel.remoteAddress)
        try await channel.executeThenClose { inbound, outbound in
            var head: HTTPRequestHead?
            var body: [UInt8] = []
            for try await part in inbound {
                switch part {
                case .head(let next):
                    head = next
                    body = []
                case .body(let buffer):
                    guard body.count + buffer.readableBytes <= Self.maximumBodyBytes else {
                        return try await write(Self.tooLarge, closing: true, to: outbound)
                    }
                    body += buffer.readableBytesView
                case .end:
                    guard let request = head else { return }
                    let response = await router.answer(
                        LocalPoolRequest(request, body: body, isFromLoopback: isFromLoopback))
                    guard response.delivery != .none else { return }
                    try await write(response, closing: !request.isKeepAlive, to: outbound)
                    guard request.isKeepAlive, response.delivery == .whole else { return }
                }
            }
        }
    }

    private func write(
        _ response: LocalPoolResponse, closing: Bool,
        to outbound: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
    ) async throws {
        var headers: HTTPHeaders = [
            "content-type": response.contentType, "content-length": "\(response.body.count)",
        ]
        for header in response.headers { headers.add(name: header.name, value: header.value) }
        headers.add(name: "connection", value: closing ? "close" : "keep-alive")
        let head = HTTPResponseHead(
            version: .http1_1, status: HTTPResponseStatus(statusCode: response.status), headers: headers)
        guard response.delivery == .whole else {
            let half = ByteBuffer(bytes: response.body.prefix(response.body.count / 2))
            return try await outbound.write(contentsOf: [.head(head), .body(.byteBuffer(half))])
        }
        try await outbound.write(
            contentsOf: [.head(head), .body(.byteBuffer(ByteBuffer(bytes: response.body))), .end(nil)])
    }

    /// Whether the address is in 127.0.0.0/8, also in the IPv4-mapped form of a dual-stack socket, or ::1.
    private static func isLoopback(_ address: SocketAddress?) -> Bool {
        guard let text = address?.ipAddress else { return false }
        return text == "::1" || ["127.", "::ffff:127."].contains { text.hasPrefix($0) }
    }

    private static let tooLarge = LocalPoolResponse(
        status: 413, contentType: "application/x-amz-json-1.1", body: Array(#"{"__type":"RequestEntityTooLarge"}"#.utf8)
    )
}

extension LocalPoolRequest {
    init(_ head: HTTPRequestHead, body: [UInt8], isFromLoopback: Bool) {
        self.init(
            method: head.method.rawValue, target: head.uri,
            headers: head.headers.map { LocalPoolHeader(name: $0.name, value: $0.value) }, body: body,
            isFromLoopback: isFromLoopback)
    }
}
