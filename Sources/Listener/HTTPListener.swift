internal import Locking
package import NIOCore
internal import Pipeline
package import Sockets
internal import Synchronization

/// A bound address and its accepted connections.
package final class HTTPListener: Sendable {
    private let sets: [ObjectIdentifier: NIOLoopBound<ConnectionSet>]
    private let socket: NIOLoopBound<ListeningSocket>
    /// The bound address, with the actual port if port 0 was requested.
    package let localAddress: SocketAddress
    private let rules: CurrentListenerSettings

    private init(
        sets: [ObjectIdentifier: NIOLoopBound<ConnectionSet>], socket: NIOLoopBound<ListeningSocket>,
        localAddress: SocketAddress, rules: CurrentListenerSettings
    ) {
        self.sets = sets
        self.socket = socket
        self.localAddress = localAddress
        self.rules = rules
    }

    /// Binds the address and begins to accept connections.
    ///
    /// - Parameters:
    ///   - accepts: false: clients can connect, but are not served before ``startAccepting()``.
    ///   - service: returns the service of an event loop; called on that loop, for each connection, and for each one
    ///     closed to free descriptors.
    /// - Throws: an error of the system if the address cannot be bound, for example because it is in use.
    package static func bind(
        _ settings: ListenerSettings, group: SocketEventLoopGroup, accepts: Bool = true,
        service: @escaping @Sendable (any EventLoop) -> any RequestService
    ) async throws -> HTTPListener {
        var sets: [ObjectIdentifier: NIOLoopBound<ConnectionSet>] = [:]
        for eventLoop in group.loops {
            sets[ObjectIdentifier(eventLoop)] = try await eventLoop.submit {
                NIOLoopBound(ConnectionSet(eventLoop: eventLoop), eventLoop: eventLoop)
            }.get()
        }
        let accepted = sets
        let rules = CurrentListenerSettings(settings)
        let admission = ConnectionAdmission(Array(sets.values))
        let (socket, address) = try await ListeningSocket.bind(host: settings.host, port: settings.port, group: group) {
            AcceptPause(reserve: settings.descriptorReserve) {
                admission.makeRoom { service($0).connectionEvicted() }
            }
        } initialize: { channel in
            guard let set = accepted[ObjectIdentifier(channel.loop)]?.value else { throw ChannelError.eof }
            let accept = Accept(
                channel: channel, address: channel.peer.address,
                pipeline: ConnectionPipeline(
                    shared: rules.current, service: service(channel.loop), connections: set, admission: admission))
            return try accept.run()
        }
        let listener = HTTPListener(sets: sets, socket: socket, localAddress: address, rules: rules)
        if accepts { listener.startAccepting() }
        return listener
    }

    /// Applies settings to connections accepted from now on, except for the address. Open connections keep theirs.
    package func use(_ settings: ListenerSettings) { rules.use(settings) }

    package func startAccepting() {
        socket.eventLoop.execute { [socket] in socket.value.startAccepting() }
    }

    /// Stops accepting, lets outstanding requests finish, and closes the remaining connections after `grace`.
    /// WebSockets get a Close frame, and ``closing`` for their closing handshake.
    package func drain(grace: TimeAmount) async {
        let closed = socket.eventLoop.submit { [socket] in socket.value.close() }
        try? await closed.get()
        await withTaskGroup(of: Void.self) { tasks in
            for set in sets.values { tasks.addTask { await Self.drain(set, grace: grace) } }
        }
    }

    /// Closes, after `grace`, all remaining connections of a ``drain(grace:)`` in progress, even if its own time is
    /// longer.
    package func closeAll(after grace: TimeAmount) {
        for set in sets.values { Self.closeAll(set, after: grace) }
    }

    private static let closing = TimeAmount.seconds(3)

    @discardableResult
    private static func closeAll(_ set: NIOLoopBound<ConnectionSet>, after grace: TimeAmount) -> Scheduled<Void> {
        set.eventLoop.scheduleTask(in: grace) { set.value.closeAll(farewell: closing) }
    }

    private static func drain(_ set: NIOLoopBound<ConnectionSet>, grace: TimeAmount) async {
        let eventLoop = set.eventLoop
        let drained = eventLoop.makePromise(of: Void.self)
        eventLoop.execute {
            set.value.drain { drained.succeed() }
        }
        let end = closeAll(set, after: grace)
        try? await drained.futureResult.get()
        end.cancel()
        eventLoop.execute { set.value.stop() }
    }
}

/// A connection that was just accepted. A future is created only if another event loop must be asked.
private struct Accept {
    let channel: any Channel
    let address: IPAddress?
    let pipeline: ConnectionPipeline

    /// - Precondition: on the channel's event loop.
    /// - Returns: nil if the connection was admitted or refused at once.
    func run() throws -> EventLoopFuture<Void>? {
        let admission = pipeline.admission.admit(
            channel, from: address, pipeline.shared.values, own: pipeline.connections, service: pipeline.service)
        switch admission {
        case .admitted: try pipeline.install(on: channel, from: address)
        case .refused(let refusal): try turnAway(refusal)
        case .undecided(let decision):
            return decision.assumeIsolated().flatMapThrowing { refusal in
                guard let refusal else { return try pipeline.install(on: channel, from: address) }
                try turnAway(refusal)
            }.nonisolated()
        }
        return nil
    }

    private func turnAway(_ refusal: ConnectionRefusal) throws {
        pipeline.service.refuseConnection(refusal, peer: address?.description ?? "unknown")
        guard pipeline.shared.values.tls == nil else { throw ChannelError.eof }
        try channel.pipeline.syncOperations.addHandler(RejectionHandler())
    }
}

/// The settings for connections accepted from now on.
private final class CurrentListenerSettings: Sendable {
    private let shared: Locked<SharedListenerSettings>

    init(_ settings: ListenerSettings) {
        shared = Locked(SharedListenerSettings(settings))
    }

    var current: SharedListenerSettings { shared.withLock { $0 } }

    func use(_ settings: ListenerSettings) {
        let settings = SharedListenerSettings(settings)
        shared.withLock { $0 = settings }
    }
}

/// Sends a minimal 503 response and closes the connection.
private final class RejectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let answer = ByteBuffer(
        staticString: """
            HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n
            """)

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(Self.answer), promise: nil)
        context.close(promise: nil)
    }
}
