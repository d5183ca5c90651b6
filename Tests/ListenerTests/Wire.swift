import HTTP1
import HTTPTypes
import NIOCore
import NIOEmbedded
import Pipeline

@testable import Listener

/// One client connection without a socket: text in, text out, a clock that only the test moves.
final class Wire {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let connections: ConnectionSet
    let service: ScriptedService
    private let socket = Socket()
    private var kernel: [String] = []
    /// `Date` of the responses taken so far.
    private(set) var dates: [String] = []

    init(
        _ service: ScriptedService = ScriptedService(),
        settings: ListenerSettings = ListenerSettings(host: "127.0.0.1", port: 0)
    ) throws {
        self.service = service
        connections = ConnectionSet(eventLoop: loop)
        channel = EmbeddedChannel(loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "203.0.113.8", port: 50_000)).wait()
        try channel.pipeline.syncOperations.addHandler(socket)
        try ConnectionPipeline(
            shared: SharedListenerSettings(settings), service: service, connections: connections,
            admission: ConnectionAdmission([])
        ).install(on: channel, from: IPAddress("203.0.113.7"))
        channel.read()
    }

    deinit {
        connections.stop()
        // Closed by the test, or by the code under test, already: then there is nothing left to end.
        _ = try? channel.finish(acceptAlreadyClosed: true)
    }

    /// The client sends this as one arrival. It waits in the kernel for as long as nobody reads.
    func send(_ text: String) throws {
        kernel.append(text)
        try deliver()
    }

    /// Arrived bytes go up when they are read; then the channel asks for more, as one of a socket does.
    private func deliver() throws {
        while socket.isReading, !isClosed, !kernel.isEmpty {
            socket.isReading = false
            try channel.writeInbound(ByteBuffer(string: kernel.removeFirst()))
            channel.read()
        }
    }

    /// Bytes that were sent and not read.
    var unread: String { kernel.joined() }

    /// Everything the client got since it was last asked, when the tick is over.
    func take() throws -> String {
        try deliver()
        loop.run()
        return try takeFlushed()
    }

    /// The same within the tick. The line of `Date`, which differs each time, goes to ``dates``.
    func takeFlushed() throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        dates += text.matches(of: /Date: ([^\r]*)\r\n/).map { String($0.1) }
        return text.replacing(/Date: [^\r]*\r\n/, with: "")
    }

    func disconnect() throws {
        channel.close(promise: nil)
        loop.run()
    }

    /// Whether the whole connection has been closed from this side, or only its sending half.
    var isClosed: Bool { socket.isClosed }
    var isHalfClosed: Bool { socket.isHalfClosed }

    /// Whether what was sent before a half close is still on its way to a slow client.
    func holdUnsent(_ isHeld: Bool) { socket.holdsUnsent = isHeld }

    /// Whether the client takes nothing: what is written to it waits here.
    func holdWrites(_ areHeld: Bool) {
        socket.holdsWrites = areHeld
        if !areHeld { channel.flush() }
    }

    /// Whether what the client sends now would be read.
    var isReading: Bool { socket.isReading }

    /// How many reads have reached the socket.
    var reads: Int { socket.reads }

    func setWritable(_ isWritable: Bool) {
        channel.isWritable = isWritable
        channel.pipeline.fireChannelWritabilityChanged()
    }

    /// Lets what was put off to the end of the turn happen.
    func run() { loop.run() }

    func advance(_ time: TimeAmount) { loop.advanceTime(by: time) }
}

/// Stands where the socket is: counts reads, and takes a half close, which an embedded channel does not know.
private final class Socket: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var reads = 0
    var isReading = false
    var isHalfClosed = false
    var isClosed = false
    var holdsUnsent = false {
        didSet {
            guard !holdsUnsent else { return }
            unsent?.succeed()
            unsent = nil
        }
    }
    private var unsent: EventLoopPromise<Void>?
    var holdsWrites = false

    func flush(context: ChannelHandlerContext) {
        if !holdsWrites { context.flush() }
    }

    func read(context: ChannelHandlerContext) {
        reads += 1
        isReading = true
        context.read()
    }

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode == .output {
            isHalfClosed = true
            if holdsUnsent { unsent = promise } else { promise?.succeed() }
        } else {
            isClosed = true
            unsent?.fail(ChannelError.ioOnClosedChannel)
            unsent = nil
            context.close(mode: mode, promise: promise)
        }
    }
}

/// A service that keeps what it is asked, and answers when the test says, or at once.
final class ScriptedService: RequestService {
    private(set) var exchanges: [ScriptedExchange] = []
    private(set) var refused: [ListenerFault] = []
    private(set) var refusedConnections: [ConnectionRefusal] = []
    private(set) var connectionErrors: [HTTP2ConnectionError] = []
    private(set) var connectionsOpen = 0
    private(set) var connectionsEvicted = 0
    private(set) var streamsOpen = 0
    private let onBegin: (ScriptedExchange) -> Void

    init(onBegin: @escaping (ScriptedExchange) -> Void = { _ in }) {
        self.onBegin = onBegin
    }

    func begin(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) -> any ExchangeSink {
        let exchange = ScriptedExchange(request, writer)
        exchanges.append(exchange)
        onBegin(exchange)
        return exchange
    }

    func refuse(_ fault: ListenerFault, peer: String) -> (HTTPResponse, ByteBuffer) {
        refused.append(fault)
        return (
            HTTPResponse(
                status: fault == .requestTimeout ? .requestTimeout : .badRequest,
                headerFields: [.contentLength: String(fault.reason.code.utf8.count)]),
            ByteBuffer(string: fault.reason.code)
        )
    }

    func refuseConnection(_ refusal: ConnectionRefusal, peer: String) { refusedConnections.append(refusal) }
    func connectionFailed(_ error: HTTP2ConnectionError) { connectionErrors.append(error) }
    func connectionEvicted() { connectionsEvicted += 1 }
    func connectionOpened() { connectionsOpen += 1 }
    func connectionClosed() { connectionsOpen -= 1 }
    func streamOpened() { streamsOpen += 1 }
    func streamClosed() { streamsOpen -= 1 }

    /// The paths of the requests that were begun, in order.
    var paths: [String] { exchanges.map { $0.request.head.path ?? "" } }
}

/// One request as the service sees it.
final class ScriptedExchange: ExchangeSink {
    let request: InboundRequest
    let demand: BodyDemand
    /// The result of ``receive(_:)``.
    var wantsMore = true
    /// Whether this part leaves room for more.
    var takes: (String) -> Bool = { _ in true }
    private(set) var body = ""
    private(set) var ends = 0
    private(set) var writability: [Bool] = []
    private(set) var disconnects = 0
    private(set) var faults: [ListenerFault] = []
    private(set) var mustCloses = 0
    private var writer: ResponseWriter?
    private var bodyWriter: ResponseBodyWriter?

    init(_ request: consuming InboundRequest, _ writer: consuming ResponseWriter) {
        self.request = request
        self.demand = writer.bodyDemand
        self.writer = consume writer
    }

    func receive(_ body: ByteBuffer) -> Bool {
        self.body += String(buffer: body)
        return wantsMore && takes(String(buffer: body))
    }

    func receiveEnd() { ends += 1 }
    func clientIsWritable(_ isWritable: Bool) { writability.append(isWritable) }
    func requestFailed(_ fault: ListenerFault) {
        faults.append(fault)
        answer(fault == .requestTimeout ? .requestTimeout : .badRequest, fault.reason.code)
    }
    func clientDisconnected() { disconnects += 1 }
    func mustClose() { mustCloses += 1 }

    // MARK: Answering

    /// A whole response with its length.
    func answer(_ status: HTTPResponse.Status = .ok, _ text: String = "", fields: HTTPFields = [:]) {
        var fields = fields
        fields[.contentLength] = String(text.utf8.count)
        respond(status, text, fields: fields)
    }

    /// A whole response with these fields only.
    func respond(_ status: HTTPResponse.Status = .ok, _ text: String = "", fields: HTTPFields = [:]) {
        writer.take()?.answer(HTTPResponse(status: status, headerFields: fields), ByteBuffer(string: text))
    }

    func start(_ status: HTTPResponse.Status = .ok, fields: HTTPFields = [:]) {
        guard let writer = writer.take() else { return }
        bodyWriter = writer.start(HTTPResponse(status: status, headerFields: fields))
    }

    /// - Returns: whether the client keeps up; nil when there is nothing to write to.
    @discardableResult
    func write(_ text: String) -> Bool? { bodyWriter?.stream.write(ByteBuffer(string: text)) }

    func flush() { bodyWriter?.stream.flush() }
    func end() { bodyWriter.take()?.end() }
    func breakOff() { bodyWriter.take()?.breakOff() }
}
