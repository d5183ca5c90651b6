internal import CEpoll
internal import Glibc
package import NIOCore

/// A listening TCP socket. It accepts connections on one loop of a group and distributes them to all of its loops.
///
/// It is used only on its loop, except for ``bind(host:port:group:gate:initialize:)``.
package final class ListeningSocket: ReadinessHandler, PausableListening {
    package let loop: SocketEventLoop
    private let group: SocketEventLoopGroup
    /// The socket's descriptor; -1 if it is closed.
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

    /// Binds an address. Clients can connect from then on, but are not served before ``startAccepting()``.
    ///
    /// - Parameters:
    ///   - gate: creates, on the socket's loop, the gate that decides whether connections are accepted.
    ///   - initialize: adds a connection's handlers, on the connection's loop. The connection starts at once if the
    ///     result is nil, otherwise when the future succeeds. An error closes it.
    /// - Returns: the socket, bound to its loop, and the address with the actual port.
    /// - Throws: `SocketAddressError` if the host cannot be resolved; `IOError` if the system refuses, for example
    ///   because the address is in use.
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
            // On Linux, accepted sockets inherit this option from the listening one; an end-to-end test verifies it.
            try set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
            // A vanished client's connection ends when bytes have been unacknowledged for 120 seconds, instead of a
            // quarter of an hour.
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

    /// Returns the bound address, with the port that the kernel chose if 0 was requested.
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

    /// Stops accepting; clients wait until ``startAccepting()``.
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

    /// Closes the socket; clients are refused from now on.
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

/// The operations of a listening socket that a gate uses.
package protocol PausableListening: AnyObject {
    var eventLoop: any EventLoop { get }
    func pause()
    func startAccepting()
}

/// A gate decides whether a listening socket accepts connections.
package protocol AcceptGate: AnyObject {
    /// The most connections accepted in one turn of the loop.
    var burst: Int { get }
    /// Returns whether a connection that was just accepted may stay open.
    func admits(_ socket: any PausableListening) -> Bool
    /// - Parameter code: the error number of accept4(2).
    func acceptFailed(_ code: Int32, _ socket: any PausableListening)
    func closed()
}
