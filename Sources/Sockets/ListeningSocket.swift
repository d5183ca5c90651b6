internal import CEpoll
internal import Glibc
package import NIOCore

/// An address that clients connect to. It accepts on one loop of a group and gives the connections to all of them.
///
/// All of it is touched on its loop only, but for ``bind(host:port:group:gate:initialize:)``.
package final class ListeningSocket: ReadinessHandler, PausableListening {
    package let loop: SocketEventLoop
    private let group: SocketEventLoopGroup
    /// -1 when it is closed.
    private var descriptor: Int32
    private var isAccepting = false
    private let gate: any AcceptGate
    private let initialize: @Sendable (SocketChannel) throws -> EventLoopFuture<Void>?

    private static let backlog: Int32 = 1024

    private init(
        _ descriptor: Int32, on loop: SocketEventLoop, of group: SocketEventLoopGroup, gate: any AcceptGate,
        initialize: @escaping @Sendable (SocketChannel) throws -> EventLoopFuture<Void>?
    ) {
        self.descriptor = descriptor
        self.loop = loop
        self.group = group
        self.gate = gate
        self.initialize = initialize
    }

    deinit { precondition(descriptor < 0, "a listening socket is closed before it is let go") }

    /// Binds an address. Clients connect from then on, but wait until ``startAccepting()``.
    ///
    /// - Parameters:
    ///   - gate: makes what decides whether connections are accepted, on the socket's loop.
    ///   - initialize: adds a connection's handlers, on the connection's loop. The connection begins at once if it
    ///     returns nil, else with the future's success. A failure closes it.
    /// - Returns: the socket, for its loop, and the address.
    /// - Throws: `SocketAddressError` for a host that cannot be resolved, and `IOError`.
    package static func bind(
        host: String, port: Int, group: SocketEventLoopGroup, gate: @escaping @Sendable () -> any AcceptGate,
        initialize: @escaping @Sendable (SocketChannel) throws -> EventLoopFuture<Void>?
    ) async throws -> (socket: NIOLoopBound<ListeningSocket>, address: SocketAddress) {
        let (descriptor, address) = try open(SocketAddress.makeAddressResolvingHost(host, port: port))
        let loop = group.nextLoop()
        do {
            let socket = try await loop.submit {
                let socket = ListeningSocket(descriptor, on: loop, of: group, gate: gate(), initialize: initialize)
                do {
                    try loop.watch(descriptor, for: [], socket)
                } catch {
                    socket.descriptor = -1
                    throw error
                }
                return NIOLoopBound(socket, eventLoop: loop)
            }.get()
            return (socket, address)
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private static func open(_ address: SocketAddress) throws -> (Int32, SocketAddress) {
        let descriptor = gatehouse_stream_socket(address.protocol.rawValue)
        guard descriptor >= 0 else { throw IOError(errnoCode: errno, reason: "socket") }
        do {
            try set(descriptor, SOL_SOCKET, SO_REUSEADDR)
            // Accepted sockets have it from the listening one on Linux; an end-to-end test reads it from one.
            try set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
            // A client that has vanished ends with what it does not acknowledge, in place of a quarter of an hour later.
            try set(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, to: 120_000)
            guard address.withSockAddr({ Glibc.bind(descriptor, $0, socklen_t($1)) }) == 0 else {
                throw IOError(errnoCode: errno, reason: "bind")
            }
            guard listen(descriptor, backlog) == 0 else { throw IOError(errnoCode: errno, reason: "listen") }
            return (descriptor, try bound(descriptor))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    private static func set(
        _ descriptor: Int32, _ level: Int32, _ option: Int32, to value: Int32 = 1
    ) throws(IOError) {
        var value = value
        guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
            throw IOError(errnoCode: errno, reason: "setsockopt")
        }
    }

    /// The address with the port that the kernel has chosen for 0.
    private static func bound(_ descriptor: Int32) throws(IOError) -> SocketAddress {
        var raw = gatehouse_address()
        guard gatehouse_bound_address(descriptor, &raw) == 0, let address = PeerAddress(raw).socketAddress else {
            throw IOError(errnoCode: errno, reason: "getsockname")
        }
        return address
    }

    // MARK: Accepting

    package var eventLoop: any EventLoop { loop }

    package func startAccepting() { accept(true) }

    /// Clients wait until ``startAccepting()``.
    package func pause() { accept(false) }

    private func accept(_ accepts: Bool) {
        guard descriptor >= 0, accepts != isAccepting else { return }
        isAccepting = accepts
        do {
            try loop.watch(descriptor, for: accepts ? .readable : [])
        } catch {
            preconditionFailure("a change of what is watched needs nothing from the kernel: \(error)")
        }
    }

    /// Clients are refused from now on.
    package func close() {
        guard descriptor >= 0 else { return }
        loop.forget(descriptor)
        Glibc.close(descriptor)
        descriptor = -1
        gate.closed()
    }

    package func stop() { close() }

    package func ready(_ events: ReadyEvents) {
        for _ in 0..<gate.burst {
            guard isAccepting, descriptor >= 0 else { return }
            var peer = gatehouse_address()
            let accepted = gatehouse_accept(descriptor, &peer)
            guard accepted >= 0 else {
                if errno == EAGAIN { return }
                gate.acceptFailed(errno, self)
                continue
            }
            guard gate.admits(self) else {
                Glibc.close(accepted)
                continue
            }
            take(accepted, PeerAddress(peer))
        }
    }

    private func take(_ descriptor: Int32, _ peer: PeerAddress) {
        let loop = group.nextLoop()
        guard loop !== self.loop else { return Self.begin(descriptor, peer, on: loop, initialize) }
        let isSent = loop.send { [initialize] in Self.begin(descriptor, peer, on: loop, initialize) }
        if !isSent { Glibc.close(descriptor) }
    }

    private static func begin(
        _ descriptor: Int32, _ peer: PeerAddress, on loop: SocketEventLoop,
        _ initialize: (SocketChannel) throws -> EventLoopFuture<Void>?
    ) {
        let channel = SocketChannel(descriptor, peer, on: loop)
        do {
            guard let decision = try initialize(channel) else { return channel.activate() }
            decision.assumeIsolated().whenComplete { result in
                switch result {
                case .success: channel.activate()
                case .failure(let error): channel.close0(error: error, mode: .all, promise: nil)
                }
            }
        } catch {
            channel.close0(error: error, mode: .all, promise: nil)
        }
    }
}

/// A listening socket, as far as a gate needs it.
package protocol PausableListening: AnyObject {
    var eventLoop: any EventLoop { get }
    func pause()
    func startAccepting()
}

/// Decides whether a listening socket accepts.
package protocol AcceptGate: AnyObject {
    /// How many connections are accepted in one turn of the loop.
    var burst: Int { get }
    /// Whether a connection that was just accepted may stay.
    func admits(_ socket: any PausableListening) -> Bool
    /// - Parameter code: of accept4(2).
    func acceptFailed(_ code: Int32, _ socket: any PausableListening)
    func closed()
}
