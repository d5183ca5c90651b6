internal import Curl
internal import HTTPClient
internal import NIOCore
internal import Sockets

/// Fetching for commands without a running gateway: one event loop with libcurl.
struct FetchSession: Sendable {
    let curl: NIOLoopBound<CurlLoop>

    /// Runs `body` with a session, which is closed afterwards even if `body` throws.
    static func with<Value>(_ body: (FetchSession) async throws -> Value) async throws -> Value {
        let group = try SocketEventLoopGroup(count: 1)
        let eventLoop = group.nextLoop()
        let curl = try await eventLoop.submit {
            NIOLoopBound(try CurlLoop(eventLoop: eventLoop), eventLoop: eventLoop)
        }.get()
        let result = await Result.of { try await body(FetchSession(curl: curl)) }
        try await eventLoop.submit { curl.value.close() }.get()
        try await group.shutdownGracefully()
        return try result.get()
    }

    func fetcher(
        plain: Bool, privately: Bool = true, access: CurlAccess = CurlAccess()
    ) async throws -> CurlFetcher {
        try await curl.eventLoop.submit {
            CurlFetcher(loop: curl.value, allowsPlainText: plain, allowsPrivateAddresses: privately, access: access)
        }.get()
    }
}

extension Result where Failure == any Error {
    /// The outcome of `body`, for work that must be done in either case.
    fileprivate static func of(_ body: () async throws -> Success) async -> Self {
        do {
            return .success(try await body())
        } catch {
            return .failure(error)
        }
    }
}
