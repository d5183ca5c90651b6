internal import Glibc
package import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// The error if the configured address can't be listened on.
package struct LocalPoolAddressError: Error, CustomStringConvertible {
    let host: String
    let port: Int
    let reason: String

    package var description: String { "cannot listen on \(host):\(port): \(reason)" }
}

/// The local pool on a socket, with the local Apple if configured.
///
/// Its log has no passwords and no tokens, but it has confirmation codes: this pool delivers them to the log, as to a
/// mailbox, and to the inbox at `GET /_local/inbox?email=…`. Therefore it is for development only.
package struct LocalPoolService: Sendable {
    private let pool: UserPool
    private let apple: LocalApple?
    private let configuration: LocalPoolConfiguration
    private let logger: Logger
    private let rehearsal = Rehearsal()
    private let onBound: @Sendable (Int) -> Void

    /// Opens the database, generates keys at the first start and stores the configured users. It listens only in
    /// ``run()``.
    ///
    /// - Parameter onBound: called once with the bound port, before the first connection.
    /// - Throws: the errors of ``UserPool/init(configuration:logger:clock:random:)``.
    package init(
        configuration: LocalPoolConfiguration, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void = { _ in }
    ) throws {
        let pool = try UserPool(configuration: configuration, logger: logger)
        let apple = try configuration.apple.map { apple in
            try LocalApple(
                configuration: apple, store: pool.store, keys: AppleKeys(store: pool.store, random: pool.random),
                logger: logger, clock: pool.clock, random: pool.random)
        }
        self.init(pool: pool, apple: apple, configuration: configuration, logger: logger, onBound: onBound)
    }

    init(
        pool: UserPool, apple: LocalApple? = nil, configuration: LocalPoolConfiguration, logger: Logger,
        onBound: @escaping @Sendable (Int) -> Void
    ) {
        self.pool = pool
        self.apple = apple
        self.configuration = configuration
        self.logger = logger
        self.onBound = onBound
    }

    /// Listens and serves until the task is cancelled, then closes every connection and returns.
    ///
    /// - Throws: ``LocalPoolAddressError`` if the address is not available.
    package func run() async throws {
        let server = try await bind()
        let port = server.channel.localAddress?.port ?? configuration.port
        let router = LocalPoolRouter(pool: poolServing(at: port), apple: apple, rehearsal: rehearsal)
        let connection = LocalPoolConnection(router: router)
        logger.info(
            "local pool is listening", metadata: ["port": "\(port)", "issuer": "\(router.pool.issuer)"])
        onBound(port)
        do {
            try await server.executeThenClose { inbound in
                try await withThrowingDiscardingTaskGroup { group in
                    for try await channel in inbound {
                        group.addTask { await serve(channel, connection) }
                    }
                }
            }
        } catch is CancellationError {
            // The regular end; the connections' tasks were cancelled with this one.
        }
    }

    private func serve(_ channel: any Channel, _ connection: LocalPoolConnection) async {
        do {
            try await connection.serve(try await wrapped(channel))
        } catch {
            // A client that disconnects or does not speak HTTP ends its own connection only.
            logger.debug("a connection ended early", metadata: ["error": "\(type(of: error))"])
        }
    }

    /// - Throws: `ChannelError.ioOnClosedChannel` if the client has disconnected.
    private func wrapped(_ channel: any Channel) async throws -> LocalPoolConnection.Channel {
        try await channel.eventLoop.submit {
            guard channel.isActive else { throw ChannelError.ioOnClosedChannel }
            let wrapped = try LocalPoolConnection.Channel(wrappingChannelSynchronously: channel)
            // If the channel closes now, serving notices it.
            _ = channel.setOption(.autoRead, value: true)
            return wrapped
        }.get()
    }

    private func bind() async throws -> NIOAsyncChannel<any Channel, Never> {
        do {
            return try await bound()
        } catch let error as IOError {
            throw LocalPoolAddressError(
                host: configuration.host, port: configuration.port,
                reason: unsafe String(cString: strerror(error.errnoCode)))
        }
    }

    /// Connections are wrapped and read only when they are served: a wrapped channel that is never served, as when the
    /// pool stops meanwhile, would crash the process.
    private func bound() async throws -> NIOAsyncChannel<any Channel, Never> {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .bind(host: configuration.host, port: configuration.port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline(
                        withPipeliningAssistance: true, withErrorHandling: true)
                    return channel
                }
            }
    }

    /// The pool; if no endpoint is configured, with the port that the system chose.
    private func poolServing(at port: Int) -> UserPool {
        guard configuration.endpoint == nil else { return pool }
        var pool = pool
        pool.endpoint = "http://\(configuration.host):\(port)"
        return pool
    }
}
