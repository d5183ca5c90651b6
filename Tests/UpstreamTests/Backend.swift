import NIOCore
import NIOPosix

/// A backend's action on a connection when it has received something.
struct Step: Sendable {
    /// Waits until these bytes have come.
    var await = "\r\n\r\n"
    var send = ""
    /// One byte a write.
    var isBytewise = false
    var closes = false

    static func answer(_ text: String, await: String = "\r\n\r\n", bytewise: Bool = false) -> Step {
        Step(await: `await`, send: text, isBytewise: bytewise)
    }

    /// Sends this, perhaps nothing, and closes.
    static func close(_ text: String = "") -> Step { Step(send: text, closes: true) }

    static let ok = answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
}

/// A wait that took longer than any test may.
struct TooLong: Error {}

extension EventLoopPromise {
    /// Fails unless it is kept within the time a test has on the slowest machine, under a sanitizer.
    func bounded() -> Self {
        let deadline = futureResult.eventLoop.scheduleTask(in: .seconds(50)) { fail(TooLong()) }
        futureResult.whenComplete { _ in deadline.cancel() }
        return self
    }
}

/// A server on a real socket that follows a script: for each connection, in the order they come, its steps.
/// After the last step, and on connections without a script, it is silent.
final class Backend: Sendable {
    let port: Int
    private let channel: any Channel
    private let state: NIOLoopBound<State>

    private final class State {
        var script: [[Step]]
        var connections: [BackendHandler] = []
        init(_ script: [[Step]]) { self.script = script }

        func connection() -> BackendHandler {
            let index = connections.count
            let handler = BackendHandler(steps: index < script.count ? script[index] : [])
            connections.append(handler)
            return handler
        }
    }

    /// - Parameter unixSocket: the path it listens on instead of a port.
    init(_ script: [[Step]], reads: Bool = true, unixSocket: String? = nil, on eventLoop: any EventLoop) async throws {
        let state = try await eventLoop.submit { NIOLoopBound(State(script), eventLoop: eventLoop) }.get()
        let bootstrap = ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: reads)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(state.value.connection())
                }
            }
        let channel: any Channel
        if let unixSocket {
            channel = try await bootstrap.bind(unixDomainSocketPath: unixSocket).get()
        } else {
            channel = try await bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .bind(host: "127.0.0.1", port: 0).get()
        }
        guard let port = unixSocket == nil ? channel.localAddress?.port : 0 else { throw ChannelError.eof }
        self.state = state
        self.channel = channel
        self.port = port
    }

    var url: String { "http://127.0.0.1:\(port)" }

    func close() async throws { try await channel.close().get() }

    private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (State) throws -> Value) async throws -> Value {
        let state = state
        return try await state.eventLoop.submit { try body(state.value) }.get()
    }

    var accepted: Int {
        get async throws { try await onLoop { $0.connections.count } }
    }

    /// Everything that has come on a connection.
    func received(on index: Int = 0) async throws -> String {
        try await onLoop { $0.connections[index].all }
    }

    /// Sends unasked.
    func push(_ text: String, on index: Int = 0) async throws {
        try await onLoop { try $0.connections[index].push(text) }.get()
    }

    /// Sends unasked, or closes the connection where there is nothing to send: a future for what another loop waits
    /// for.
    func pushing(_ text: String, on index: Int = 0) async throws -> EventLoopFuture<Void> {
        let future = try await onLoop { try $0.connections[index].push(text) }
        guard text.isEmpty else { return future }
        try await onLoop { $0.connections[index].end() }
        return try await onLoop { try $0.connections[index].ended() }
    }

    /// Closes a connection when all that was sent on it is on its way.
    func end(_ index: Int = 0) async throws {
        try await push("", on: index)
        try await onLoop { $0.connections[index].end() }
        try await awaitClose(of: index)
    }

    /// Begins to read where the connection was accepted without.
    func startReading(on index: Int = 0) async throws {
        try await onLoop { $0.connections[index].startReading() }
    }

    /// Returns when the connection has ended, from whichever side.
    func awaitClose(of index: Int = 0) async throws {
        try await onLoop { state throws -> EventLoopFuture<Void> in
            guard index < state.connections.count else { throw TooLong() }
            return try state.connections[index].ended()
        }.get()
    }
}

private final class BackendHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private(set) var all = ""
    private var unmatched: [UInt8] = []
    private var searched = 0
    private var steps: [Step]
    private var context: ChannelHandlerContext?
    private var channel: (any Channel)?

    init(steps: [Step]) { self.steps = steps }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        channel = context.channel
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        all += String(buffer: bytes)
        unmatched.append(contentsOf: bytes.readableBytesView)
        while let step = steps.first {
            guard let end = end(of: Array(step.await.utf8)) else { return }
            unmatched.removeSubrange(..<end)
            searched = 0
            steps.removeFirst()
            act(step, context)
        }
    }

    /// Where the awaited bytes end in what has come; what was searched before is not searched again.
    private func end(of awaited: [UInt8]) -> Int? {
        var index = searched
        while index + awaited.count <= unmatched.count {
            if unmatched[index] == awaited[0], unmatched[index..<index + awaited.count].elementsEqual(awaited) {
                return index + awaited.count
            }
            index += 1
        }
        searched = index
        return nil
    }

    private func act(_ step: Step, _ context: ChannelHandlerContext) {
        for part in step.isBytewise ? step.send.map(String.init) : [step.send] where !part.isEmpty {
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: part)), promise: nil)
        }
        if step.closes { context.close(promise: nil) }
    }

    func push(_ text: String) throws -> EventLoopFuture<Void> {
        guard let context else { throw ChannelError.ioOnClosedChannel }
        return context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)))
    }

    func end() { context?.close(promise: nil) }

    func startReading() {
        guard let channel else { return }
        channel.setOption(.autoRead, value: true).whenSuccess { channel.read() }
    }

    func ended() throws -> EventLoopFuture<Void> {
        guard let channel else { throw ChannelError.eof }
        let promise = channel.eventLoop.makePromise(of: Void.self).bounded()
        channel.closeFuture.cascade(to: promise)
        return promise.futureResult
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
