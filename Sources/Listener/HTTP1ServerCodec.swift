internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

/// The HTTP/1.1 codec of one connection: bytes to request parts, response parts to bytes, one request at a time.
///
/// It replaces SwiftNIO's codec for two reasons measured on this data path: strict parsing needs the raw bytes
/// (SwiftNIO's parser accepts bare line feeds and folded lines), and building swift-http-types values directly from
/// them saves a conversion for each message.
final class HTTP1ServerCodec: ChannelDuplexHandler, RemovableChannelHandler, MessageCodec, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    enum Reading {
        case head
        case body(BodyDecoder)
        /// Input is discarded until the client has seen the last response and closes.
        case discarding
        /// Input is passed on unchanged: the connection no longer speaks HTTP.
        case tunnel
    }

    private let shared: SharedListenerSettings
    let connections: ConnectionSet
    /// Adds the handlers of HTTP/2 to the pipeline if the connection begins with its preface; nil if it cannot, or has
    /// not.
    var installHTTP2: ((ChannelHandlerContext) throws -> Void)?
    var parser: RequestHeadParser
    private let output = HTTP1ResponseOutput()
    var reading = Reading.head
    /// The request whose response is outstanding; nil if there is none.
    var outstanding: OutstandingRequest?
    var input = ByteBuffer()
    private var isDecoding = false
    var isDraining = false
    var readIsPending = false
    /// Whether the gateway waits for the client's bytes; false while the service has paused a body.
    var isReading = false
    /// Whether no further request is begun because too many response bytes wait for the client: a client that sends
    /// requests and reads nothing must not make the gateway buffer all responses.
    private var isBlocked = false
    /// The most requests begun in one turn of the event loop. One read may contain thousands of requests that the
    /// gateway answers at once; after this number, other connections get their turn.
    private static let mostRequestsInTurn = 32
    private var requestsInTurn = 0
    /// Whether no request is begun until the other connections have had their turn.
    private var hasYielded = false
    var context: ChannelHandlerContext?
    var exchanges: ExchangeHandler?
    /// The approximate number of bytes written since the channel's unsent bytes were last checked.
    var bytesSinceLook = 0
    /// Whether the tunnel has been asked to close.
    var hasReportedTunnel = false
    /// Whether the client has closed its half of a tunnel.
    var hasInputEnded = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(deadline, slowReader.deadline, rate.deadline, lingering.deadline) }
    /// The deadline for the client's next bytes.
    var deadline = NIODeadline.distantFuture
    var slowReader: SlowReader
    /// The minimum rate of the current request's head or body.
    var rate: MinimumRate
    /// The time limit for reading and discarding input after the gateway has closed its side.
    var lingering = Lingering()

    init(_ shared: SharedListenerSettings, scheme: String, connections: ConnectionSet) {
        self.shared = shared
        self.connections = connections
        self.parser = RequestHeadParser(limits: shared.values.head, scheme: scheme)
        self.slowReader = SlowReader(shared.values)
        self.rate = MinimumRate(shared.values.minimumRate, grace: shared.values.minimumRateGrace)
    }

    var settings: ListenerSettings { shared.values }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        deadline = connections.now + settings.keepAliveTimeout
        connections.insert(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(self)
        self.context = nil
        exchanges = nil
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        isReading = false
        requestsInTurn = 0
        var bytes = unwrapInboundIn(data)
        if rate.isMeasuring { rate.received(bytes.readableBytes, at: connections.now) }
        if case .discarding = reading {
            if !lingering.received(bytes.readableBytes, at: connections.now) { context.close(promise: nil) }
            return
        }
        if input.readableBytes == 0 {
            input = bytes
        } else {
            // Otherwise a client whose packets all end within a chunk's line would have all its bytes retained.
            input.discardReadBytes()
            input.writeBuffer(&bytes)
        }
        if let installHTTP2, !beginsRequest(context, installHTTP2) { return }
        decode(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        endOfInput(context)
    }

    /// Called when all available input has been passed on.
    func endOfInput(_ context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        // By now the service has seen the head, and has not refused the request.
        if outstanding?.continueIsDue == true, outstanding?.responseHasBegun == false {
            outstanding?.continueIsDue = false
            context.writeAndFlush(
                wrapOutboundOut(ByteBuffer(staticString: "HTTP/1.1 100 Continue\r\n\r\n")), promise: nil)
        }
    }

    func decode(_ context: ChannelHandlerContext) {
        guard !isDecoding else { return }
        isDecoding = true
        do {
            while try decodeNext(context) {}
        } catch {
            fail(.http(error), context)
        }
        if input.readableBytes == 0, input.storageCapacity > 0 { input = ByteBuffer() }
        isDecoding = false
        resumeReading(context)
    }

    /// - Returns: whether there may be more to decode.
    private func decodeNext(_ context: ChannelHandlerContext) throws(HTTP1Fault) -> Bool {
        switch reading {
        case .discarding:
            return false
        case .tunnel:
            return passThrough(context)
        case .head:
            guard !isBlocked, !hasYielded else { return false }
            // One request at a time: the next one waits until this one has its response.
            guard outstanding == nil, let head = try parser.next(from: &input) else {
                if outstanding == nil, parser.isInHead { beginHead() }
                return false
            }
            take(head, context)
            requestsInTurn += 1
            if requestsInTurn == Self.mostRequestsInTurn { yieldTurn(context) }
            return true
        case .body(var decoder):
            let part = try decoder.next(from: &input)
            if case .body = reading { reading = .body(decoder) }
            switch part {
            case nil:
                return false
            case .data(let data):
                outstanding?.continueIsDue = false
                exchanges?.receive(.body(data))
            case .end:
                endRequest(context)
            }
            return true
        }
    }

    private func yieldTurn(_ context: ChannelHandlerContext) {
        requestsInTurn = 0
        guard input.readableBytes > 0 else { return }
        hasYielded = true
        context.eventLoop.assumeIsolated().execute { self.resumeTurn() }
    }

    private func resumeTurn() {
        hasYielded = false
        guard let context, outstanding == nil, case .head = reading else { return }
        nextRequest(context)
    }

    /// Starts the time of a head that is incomplete.
    func beginHead() {
        guard !headDeadlineIsSet else { return }
        headDeadlineIsSet = true
        deadline = connections.now + settings.headTimeout
        rate.begin()
    }
    private var headDeadlineIsSet = false

    private func take(_ head: RequestHead, _ context: ChannelHandlerContext) {
        headDeadlineIsSet = false
        deadline = .distantFuture
        outstanding = OutstandingRequest(head, isLast: isDraining)
        if head.framing == .none {
            rate.end()
            reading = .head
            exchanges?.receive(.head(head.request))
            exchanges?.receive(.end)
        } else {
            reading = .body(BodyDecoder(head.framing))
            deadline = connections.now + settings.bodyIdleTimeout
            rate.begin()
            exchanges?.receive(.head(head.request))
        }
    }

    private func endRequest(_ context: ChannelHandlerContext) {
        reading = .head
        deadline = .distantFuture
        rate.end()
        outstanding?.requestIsComplete = true
        exchanges?.receive(.end)
    }

    /// Ends a connection whose input is no longer trustworthy: sends an error response if still possible, and closes.
    func fail(_ fault: ListenerFault, _ context: ChannelHandlerContext) {
        input = ByteBuffer()
        reading = .discarding
        rate.end()
        deadline = connections.now + Self.farewell
        if outstanding?.responseHasBegun == true {
            breakOff()
            return
        }
        outstanding = .unreadable(toHead: outstanding?.isHead == true)
        context.fireErrorCaught(fault)
    }

    // MARK: Backpressure

    func read(context: ChannelHandlerContext) {
        // While a response is outstanding, further requests stay in the kernel's receive buffer, so that TCP slows down
        // the client. The rest of the current request's body, such as half a chunk size, needs the bytes that follow.
        // During decoding it is not yet known which requests will have to wait.
        if isDecoding || hasBytesToWait { readIsPending = true } else { awaitBytes(context) }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard readIsPending, !hasBytesToWait else { return }
        readIsPending = false
        awaitBytes(context)
    }

    /// Whether bytes of a request that must wait have arrived. Each further read would buffer more of them.
    private var hasBytesToWait: Bool {
        guard case .head = reading else { return false }
        return (outstanding != nil || isBlocked || hasYielded) && input.readableBytes > 0
    }

    func awaitBytes(_ context: ChannelHandlerContext) {
        isReading = true
        if case .body = reading { deadline = connections.now + settings.bodyIdleTimeout }
        if rate.isMeasuring { rate.wait(at: connections.now) }
        context.read()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if !isTunnel { slowReader.writabilityChanged(of: context.channel, at: connections.now) }
        isBlocked = !context.channel.isWritable
        context.fireChannelWritabilityChanged()
        guard outstanding == nil, case .head = reading else { return }
        // A response may block the channel after the wait for the next request has begun.
        guard !isBlocked else { return awaitReader() }
        keepAlive()
        headDeadlineIsSet = false
        nextRequest(context)
    }

    /// Begins no further request until the client has taken more of its responses. The slow reader's deadline applies.
    private func awaitReader() {
        deadline = .distantFuture
        rate.end()
    }

    // MARK: Responses

    func write(_ part: ResponsePart) {
        guard let context else { return }
        switch part {
        case .head(let head):
            writeHead(head)
            if head.status == .switchingProtocols { beginTunnel(context) }
        case .body(let body):
            bytesSinceLook += body.readableBytes
            output.writeBody(body, context)
        case .end(let trailers): writeEnd(trailers, context)
        }
    }

    private func writeHead(_ head: HTTPResponse) {
        guard let current = beginResponse() else { return }
        output.writeHead(
            head, toHead: current.isHead, minorVersion: current.minorVersion,
            keepAlive: current.keepAlive && !isDraining)
    }

    var httpVersion: ClientProtocol.HTTPVersion { outstanding?.minorVersion == 0 ? .http10 : .http11 }

    var sendsLines: Bool { true }

    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool) {
        guard let current = beginResponse() else { return }
        output.writeHead(
            status, lines, requestID: requestID, toHead: current.isHead, minorVersion: current.minorVersion,
            keepAlive: current.keepAlive && !isDraining && !closes)
    }

    private func beginResponse() -> OutstandingRequest? {
        // Body parts after the response's head are a bidirectional exchange, not an upload. Pauses up to the body's
        // idle timeout are allowed.
        rate.end()
        outstanding?.beginResponse()
        return outstanding
    }

    func flush(context: ChannelHandlerContext) {
        output.write(context)
        context.flush()
    }

    func flush() {
        if let context { flush(context: context) }
    }

    func flushEnded() {
        flush()
        exchanges?.settle()
    }

    func resume() {
        if let context { read(context: context) }
    }

    /// Breaks off a response. A body without chunks or length would seem complete after an orderly close, so its
    /// connection is reset. For any other response, the bytes so far are sent: a client that receives nothing may take
    /// its connection for a stale one and repeat a POST. The last bytes of a WebSocket may be the backend's Close
    /// frame.
    func breakOff() {
        guard let context else { return }
        if isTunnel || !output.isUntilClose { flush(context: context) }
        let isCut =
            output.isUntilClose || output.endsWithConnection && SlowReader.unsentBytes(of: context.channel) > 0
        if isCut, !isTunnel { reset(context) } else { context.close(promise: nil) }
    }

    private func writeEnd(_ trailers: HTTPFields?, _ context: ChannelHandlerContext) {
        guard let current = outstanding else { return }
        guard output.writeEnd(trailers: trailers, context) else {
            context.flush()
            context.close(promise: nil)
            return
        }
        outstanding = nil
        if output.mustClose || !current.keepAlive || !current.requestIsComplete {
            closeAfterResponse(context)
        } else {
            keepAlive()
            nextRequest(context)
        }
    }

    private func nextRequest(_ context: ChannelHandlerContext) {
        if isDraining, input.readableBytes == 0 {
            closeAfterResponse(context)
            return
        }
        guard !isBlocked else { return awaitReader() }
        if !isDecoding, input.readableBytes > 0 {
            decode(context)
            // This request did not come with a read, so no read completion follows it.
            endOfInput(context)
        }
        if !isDecoding { resumeReading(context) }
    }
}
