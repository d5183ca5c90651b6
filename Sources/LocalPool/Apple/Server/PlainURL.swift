internal import FoundationEssentials
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// An `http` URL for notifications: that of the gateway on this machine.
package struct PlainURL: Sendable, Equatable {
    private let host: String
    private let port: Int
    private let target: String

    package init?(_ text: String) {
        guard let parts = URLComponents(string: text), parts.scheme == "http", let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.fragment == nil
        else { return nil }
        self.host = host
        port = parts.port ?? 80
        target =
            (parts.percentEncodedPath.isEmpty ? "/" : parts.percentEncodedPath)
            + (parts.percentEncodedQuery.map { "?" + $0 } ?? "")
    }

    /// The reason why a delivery failed.
    enum DeliveryError: String, Error, CustomStringConvertible {
        case noAnswer = "no response"

        var description: String { rawValue }
    }

    private typealias Client = NIOAsyncChannel<HTTPClientResponsePart, HTTPClientRequestPart>

    /// Posts the JSON text on a new connection.
    ///
    /// - Returns: the response's status.
    /// - Throws: errors of the connection; ``DeliveryError`` if it closes without a response, or after ten seconds.
    func post(_ body: [UInt8]) async throws -> Int {
        let client = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .connect(host: host, port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHTTPClientHandlers()
                    return try Client(wrappingChannelSynchronously: channel)
                }
            }
        let channel = client.channel
        let deadline = channel.eventLoop.scheduleTask(in: .seconds(10)) { channel.close(promise: nil) }
        defer { deadline.cancel() }
        return try await client.executeThenClose { inbound, outbound in
            try await outbound.write(contentsOf: request(body))
            for try await part in inbound {
                if case .head(let head) = part { return Int(head.status.code) }
            }
            throw DeliveryError.noAnswer
        }
    }

    private func request(_ body: [UInt8]) -> [HTTPClientRequestPart] {
        let headers: HTTPHeaders = [
            "host": "\(host):\(port)", "content-type": "application/json", "content-length": "\(body.count)",
            "connection": "close",
        ]
        return [
            .head(HTTPRequestHead(version: .http1_1, method: .POST, uri: target, headers: headers)),
            .body(.byteBuffer(ByteBuffer(bytes: body))), .end(nil),
        ]
    }
}
