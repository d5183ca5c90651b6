internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2
internal import NIOHTTPTypes

/// HTTP/2 on one stream: frames to request parts, response parts to frames.
final class HTTP2StreamCodec: ChannelDuplexHandler, MessageCodec, TimedConnection {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundIn = Never
    typealias OutboundOut = HTTP2Frame.FramePayload

    let settings: ListenerSettings
    private let headReader: HTTP2RequestHeadReader
    let connection: HTTP2Connection
    let connections: ConnectionSet
    var context: ChannelHandlerContext?
    var exchanges: ExchangeHandler?
    private var id = HTTP2StreamID.rootStream

    private var incoming = HTTP2IncomingBody()
    /// Parts that came before the request was released; nil from then on.
    private var buffered: [HTTPRequestPart]? = []
    private var isHead = false
    /// An extended CONNECT: its client may be silent for as long as it likes.
    private var isConnect = false
    /// The stream carries a WebSocket's bytes.
    private(set) var isTunnel = false
    private var continueIsDue = false
    var outgoing = HTTP2OutgoingBody()
    /// Written with the next part, or when flushed: the last one carries END_STREAM itself.
    private var unwritten: HTTP2Frame.FramePayload?
    var isOver = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(deadline, rate.deadline, reader.deadline) }
    /// For what is to come from the client, and whether it is awaited.
    var deadline = NIODeadline.distantFuture
    var isReading = false
    /// Of the body that is coming.
    var rate: LeastRate
    /// Whether the client is awaited among those streams that ``HTTP2Connection/uploads`` is of.
    var isAwaited = false
    var excuses = HTTP2Excuses()
    /// Parts of DATA frames that wait until the stream is read from.
    private(set) var storedParts = 0
    /// For a client that is slow to take its response.
    var reader: HTTP2SlowReader

    init(
        _ settings: ListenerSettings, head: HTTP2RequestHeadReader, connection: HTTP2Connection,
        connections: ConnectionSet
    ) {
        self.settings = settings
        self.headReader = head
        self.connection = connection
        self.connections = connections
        rate = LeastRate(settings.leastRate, grace: settings.leastRateGrace)
        reader = HTTP2SlowReader(settings)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        id = (try? context.channel.syncOptions?.getOption(HTTP2StreamChannelOptions.streamID)) ?? .rootStream
        connection.opened(id, self)
        connections.insert(self)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopMeasuring()
        if reader.stopWaiting() { connection.endWaiting(at: connections.now) }
        connections.remove(self)
        connection.closed(id)
        self.context = nil
        exchanges = nil
    }

    // MARK: Requests

    /// Parts of DATA frames have come.
    ///
    /// - Returns: whether they are stored, because the service wants no more for now.
    func store(_ count: Int) -> Bool {
        guard !isReading else { return false }
        storedParts += count
        return true
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if storedParts > 0 {
            // All of them come at once.
            connection.took(storedParts)
            storedParts = 0
        }
        guard !isOver else { return }
        isReading = false
        do throws(HTTP1Fault) {
            switch unwrapInboundIn(data) {
            case .headers(let headers):
                if incoming.isAwaitingHead {
                    try begin(headers.headers, endStream: headers.endStream)
                } else {
                    // RFC 9113 §8.5: on a stream that is a connection there is nothing but DATA.
                    guard !isConnect else { throw .malformedField }
                    // Trailers. They end the body; no field of theirs goes on.
                    try headReader.checkTrailers(headers.headers)
                    try pass(incoming.end())
                }
            case .data(let data):
                guard case .byteBuffer(let bytes) = data.data else { return }
                measure(bytes.readableBytes)
                try pass(incoming.take(bytes, endStream: data.endStream))
            case .rstStream:
                isOver = true
                stopMeasuring()
                buffered = nil
            default:
                break
            }
        } catch {
            fail(.http(error))
        }
    }

    private func begin(_ headers: HPACKHeaders, endStream: Bool) throws(HTTP1Fault) {
        let head = try headReader.read(headers)
        isHead = head.request.method == .head
        isConnect = head.request.method == .connect
        continueIsDue = head.expectsContinue && !endStream
        pass(.head(head.request))
        try pass(incoming.begin(contentLength: head.contentLength, endStream: endStream))
        if !endStream, !isConnect {
            deadline = connections.now + settings.bodyIdleTimeout
            rate.begin()
            if rate.isMeasuring { connection.uploads.join() }
        }
        connection.hold(self)
    }

    private func pass(_ parts: HTTP2IncomingBody.Parts) {
        if let body = parts.body {
            continueIsDue = false
            pass(.body(body))
        }
        if parts.hasEnded {
            deadline = .distantFuture
            stopMeasuring()
            continueIsDue = false
            pass(.end(nil))
        }
    }

    private func pass(_ part: HTTPRequestPart) {
        guard buffered == nil else {
            buffered?.append(part)
            return
        }
        exchanges?.receive(part)
    }

    /// Lets the service have the request: all that came in one read with it has been seen.
    func release() {
        guard let parts = buffered, !isOver, let context else { return }
        // `content-length: 0` is believed when the stream has ended: no body may follow.
        guard !incoming.owesEmptyEnd else { return }
        buffered = nil
        for part in parts { exchanges?.receive(part) }
        context.fireChannelReadComplete()
        // By now the service has seen the head, and has not refused the request.
        guard continueIsDue, !outgoing.hasBegun else { return }
        continueIsDue = false
        let interim = HTTP2ResponseHead(HTTPResponse(status: .continue), toHead: false)
        context.writeAndFlush(wrapOutboundOut(.headers(.init(headers: interim.headers))), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if buffered == nil {
            context.fireChannelReadComplete()
        } else if incoming.hasEnded {
            connection.hold(self)
        }
    }

    func read(context: ChannelHandlerContext) {
        isReading = true
        if incoming.isOpen, !isConnect { deadline = connections.now + settings.bodyIdleTimeout }
        if rate.isMeasuring {
            let now = connections.now
            rate.wait(at: now)
            if !isAwaited { connection.uploads.wait(at: now) }
            isAwaited = true
        }
        context.read()
    }

    /// Answers if that is still possible, and wants no more of the client's.
    func fail(_ fault: ListenerFault) {
        guard let context else { return }
        deadline = .distantFuture
        stopMeasuring()
        buffered = nil
        continueIsDue = false
        if outgoing.hasBegun {
            reset(.protocolError, context)
        } else {
            incoming.stop()
            context.fireErrorCaught(fault)
        }
    }

    // MARK: Responses

    func write(_ part: HTTPResponsePart) {
        guard !isOver, let context else { return }
        switch part {
        case .head(let head): writeHead(head, context)
        case .body(let body): writeBody(body, context)
        case .end(let trailers): writeEnd(trailers, context)
        }
    }

    private func writeHead(_ head: HTTPResponse, _ context: ChannelHandlerContext) {
        isTunnel = head.status == .switchingProtocols
        let head = isTunnel ? HTTP2ResponseHead(switching: head) : HTTP2ResponseHead(head, toHead: isHead)
        // Body parts that follow the response's head are a conversation and not an upload. They may pause as long as an
        // idle body may.
        stopMeasuring()
        outgoing.begin(head)
        continueIsDue = false
        writeUnwritten(context)
        unwritten = .headers(.init(headers: head.headers))
    }

    var sendsLines: Bool { false }

    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool) {
        write(.head(HTTPResponse(status: status, headerFields: lines.fields(requestID: requestID))))
    }

    private func writeBody(_ body: ByteBuffer, _ context: ChannelHandlerContext) {
        guard outgoing.hasBody, body.readableBytes > 0 else { return }
        guard outgoing.take(body.readableBytes) else { return reset(.internalError, context) }
        writeUnwritten(context)
        unwritten = .data(.init(data: .byteBuffer(body)))
    }

    private func writeUnwritten(_ context: ChannelHandlerContext, promise: EventLoopPromise<Void>? = nil) {
        guard let payload = unwritten else { return }
        unwritten = nil
        context.write(wrapOutboundOut(payload), promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        writeUnwritten(context)
        context.flush()
    }

    private func writeEnd(_ trailers: HTTPFields?, _ context: ChannelHandlerContext) {
        // A body shorter than was announced must not look like a whole one.
        guard outgoing.end() else { return reset(.internalError, context) }
        if let trailers, outgoing.hasBody {
            writeUnwritten(context)
            unwritten = .headers(.init(headers: HPACKHeaders(trailers: trailers)))
        }
        isTunnel = false
        switch unwritten {
        case .headers(var headers)?:
            headers.endStream = true
            unwritten = .headers(headers)
        case .data(var data)?:
            data.endStream = true
            unwritten = .data(data)
        default:
            unwritten = .data(.init(data: .byteBuffer(ByteBuffer()), endStream: true))
        }
        guard incoming.isOpen else { return writeUnwritten(context) }
        // RFC 9113 §8.1: the client need not send what is left of its request. A reset throws away what is not yet
        // sent, so it must come after.
        deadline = .distantFuture
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenSuccess { _ in
            if let context = self.context, self.incoming.isOpen { self.reset(.noError, context) }
        }
        writeUnwritten(context, promise: sent)
    }

    func reset(_ code: NIOHTTP2.HTTP2ErrorCode, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        isOver = true
        unwritten = nil
        context.writeAndFlush(wrapOutboundOut(.rstStream(code)), promise: nil)
    }

    /// Whoever closes a stream that is not at its end breaks its response off.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        reset(outgoing.hasEnded ? .noError : .internalError, context)
        context.close(mode: mode, promise: promise)
    }

    // MARK: Time and end

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        reader.isBlocked = !context.channel.isWritable
        // A WebSocket has its own limit for the time in which nothing moves.
        if !isTunnel { waitForReader() }
        context.fireChannelWritabilityChanged()
    }

    /// Nothing of the connection can be trusted any more; the service gives up what it does for this stream.
    func connectionFailed() {
        isOver = true
        buffered = nil
        context?.fireChannelInactive()
    }

    /// The connection drains; its streams finish.
    func drain() {}
    /// The connection closes, and its streams with it.
    func closeNow() {}

    /// A WebSocket is to be closed now.
    func closeTunnel() {
        context?.fireUserInboundEventTriggered(TunnelMustClose())
    }
}
