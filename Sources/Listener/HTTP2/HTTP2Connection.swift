internal import HTTP2
internal import NIOCore
internal import Pipeline

/// One HTTP/2 connection: input to streams, output of streams to bytes, closing and deadlines. The session handles the
/// frames.
final class HTTP2Connection: ChannelInboundHandler, TimedConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let shared: SharedListenerSettings
    let peer: String
    let service: any RequestService
    let connections: ConnectionSet
    private let makeExchanges: (HTTP2Stream) -> ExchangeHandler
    private(set) var session: HTTP2Session?
    var settings: ListenerSettings { shared.values }
    private var scanner = HTTP2FrameScanner()
    var budget: HTTP2FrameBudget
    var heads: HTTP2HeadWatch
    var reading: HTTP2HeadReading
    var streams: HTTP2StreamTable
    var due = HTTP2PendingStreams()
    /// The minimum rate of all request bodies together.
    var uploads: ConnectionMinimumRate
    /// The limits of each new stream.
    let pace: HTTP2UploadPace
    let reader: HTTP2SlowReader
    /// The rate at which the client takes its responses.
    var downloads: HTTP2Downloads
    /// The error code of the GOAWAY that was written; 0: none.
    var errorCode: UInt32 = 0
    var life: HTTP2ConnectionLife
    private(set) var context: ChannelHandlerContext?
    private(set) var isWritable = true
    private var flushIsScheduled = false
    private var isSending = false
    /// Whether control frames must be sent even if the client reads nothing.
    var mustSend = false
    /// Whether the connection must close and waits for its WebSockets.
    var isClosing = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(life.deadline, heads.deadline) }
    var phase: HTTP2ConnectionLife.Phase { life.phase }

    /// The size, in bytes, from which body parts are sent without being copied. TLS copies all parts anyway, and makes
    /// fewer records of larger buffers.
    private static let leastPart = 4 << 10

    /// - Parameter makeExchanges: makes the handler that passes a stream's request to the service.
    init(
        _ shared: SharedListenerSettings, _ limits: HTTP2Limits, service: any RequestService,
        connections: ConnectionSet, peer: String, scheme: String,
        makeExchanges: @escaping (HTTP2Stream) -> ExchangeHandler
    ) throws {
        let settings = shared.values
        self.shared = shared
        self.peer = peer
        self.service = service
        self.connections = connections
        self.makeExchanges = makeExchanges
        budget = HTTP2FrameBudget(limits)
        heads = HTTP2HeadWatch(settings)
        reading = HTTP2HeadReading(limits: settings.head, scheme: scheme)
        // Frames in transit for a reset stream are no error. A client may have all its uploads refused at once.
        streams = HTTP2StreamTable(mostClosed: max(32, limits.streams))
        let rate = ConnectionMinimumRate(settings.minimumRate, grace: settings.minimumRateGrace)
        (uploads, downloads) = (rate, HTTP2Downloads(rate))
        (pace, reader) = (HTTP2UploadPace(settings), HTTP2SlowReader(settings))
        life = HTTP2ConnectionLife(keepAlive: settings.keepAliveTimeout)
        session = try HTTP2Session(
            HTTP2SessionLimits(settings.head, limits), leastPart: settings.tls == nil ? Self.leastPart : .max,
            receiver: self)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        isWritable = context.channel.isWritable
        life.begin(at: connections.now)
        connections.insert(self)
        scheduleFlush()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(self)
        closeStreams()
        self.context = nil
        session = nil
        due = HTTP2PendingStreams()
    }

    func channelInactive(context: ChannelHandlerContext) {
        life.wasLost()
        closeStreams()
        context.fireChannelInactive()
    }

    private func closeStreams() {
        for stream in streams.takeAll() {
            stream.close()
            service.streamClosed()
        }
    }

    // MARK: Input

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard phase != .ended else {
            if !life.threwAway(bytes.readableBytes, at: connections.now) { context.close(promise: nil) }
            return
        }
        let ends = scanner.ends
        receive(bytes)
        heads.received(
            bytes.readableBytes, isIncomplete: scanner.isIncomplete, hasEnded: scanner.ends != ends,
            at: connections.now)
    }

    private func receive(_ bytes: ByteBuffer) {
        var (start, position) = (bytes.readerIndex, bytes.readerIndex)
        while let header = scanner.next(in: bytes, from: &position) {
            guard budget.take(header.type, at: connections.now) else { return fail(.enhanceYourCalm) }
            if header.type == .goAway { life.clientLeaves = true }
            guard header.type == .data || header.type == .headers, header.stream > 0, !scanner.blockWasOpen else {
                continue
            }
            let frame = max(start, position - HTTP2FrameHeader.size)
            if streams.hasSeen(header) {
                // The frames before this one may change the stream's state, so the session receives them first.
                guard feed(bytes, start..<frame), admit(header) else { return }
                start = frame
            }
            if let head = reading.decoded(header, bytes, from: position) {
                guard feed(bytes, start..<frame), feed(head) else { return }
                start = position + header.length
            }
        }
        _ = feed(bytes, start..<bytes.writerIndex)
    }

    /// - Returns: false if the connection has ended.
    private func feed(_ bytes: ByteBuffer, _ range: Range<Int>) -> Bool {
        guard !range.isEmpty else { return phase != .ended }
        return feed(
            range.count == bytes.readableBytes
                ? bytes : bytes.getSlice(at: range.lowerBound, length: range.count) ?? ByteBuffer())
    }

    private func feed(_ part: ByteBuffer) -> Bool {
        guard let session, phase != .ended else { return false }
        if let error = session.receive(sharing: part) {
            fail(error)
            return false
        }
        return true
    }

    /// Checks a frame of a stream that was opened before (RFC 9113 §5.1).
    ///
    /// - Returns: false if the connection has ended.
    private func admit(_ header: HTTP2FrameHeader) -> Bool {
        guard let session, header.stream <= session.lastStream else { return true }
        if let stream = streams[header.stream] {
            // The session would treat this frame as a connection error; only the stream is reset.
            guard stream.clientHasEnded, !stream.isOver else { return true }
            guard provokedReset() else { return false }
            stream.reset(.streamClosed)
            sendResets()
            return !endIfFailed()
        }
        if let error = streams.error(ofLate: header) {
            fail(error)
            return false
        }
        guard budget.takeLate(header) else {
            fail(.enhanceYourCalm)
            return false
        }
        return true
    }

    /// - Returns: false if the client has provoked too many resets, which ends the connection.
    func provokedReset() -> Bool {
        guard budget.resetWasProvoked(at: connections.now) else {
            fail(.enhanceYourCalm)
            return false
        }
        return true
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        guard phase != .ended, let session else { return }
        // A connection error must be detected before a request is begun.
        session.produceControl()
        guard !endIfFailed() else { return }
        for stream in due.touched.takeAll() {
            stream.isTouched = false
            stream.readCompleted()
        }
        // A client that has sent GOAWAY gets this side's GOAWAY too, and the connection ends with its streams.
        if life.isToRefuseMore { refuseMore() }
        scheduleFlush()
    }

    /// Registers the stream for ``HTTP2Stream/readCompleted()`` at the end of this read.
    func touch(_ stream: HTTP2Stream) {
        guard !stream.isTouched else { return }
        stream.isTouched = true
        due.touched.append(stream)
    }

    // MARK: Streams

    func open(_ id: Int32) {
        let stream = HTTP2Stream(id, connection: self)
        stream.exchanges = makeExchanges(stream)
        stream.exchanges?.attach(isWritable: true)
        streams.insert(stream)
        service.streamOpened()
        life.streamOpened()
    }

    func forget(_ stream: HTTP2Stream) {
        streams.remove(stream)
        if stream.response.isHeld { due.held.removeAll { $0 === stream } }
        stream.close()
        service.streamClosed()
        // The flush ends the connection. That must not happen from within the session.
        if streams.isEmpty, life.streamsAreGone(at: connections.now) { scheduleFlush() }
    }

    private func releaseHeads() {
        guard isWritable else { return }
        for stream in due.held.takeAll() { stream.releaseHead() }
    }

    private func sendResets() {
        guard !due.resets.isEmpty, let session else { return }
        if isWritable { session.produce() } else { session.produceControl() }
        for (stream, error) in due.resets.takeAll() {
            stream.dropOutput()
            // The client may have reset it first.
            if streams[stream.id] === stream { session.reset(stream.id, error) }
        }
        session.produceControl()
    }

    // MARK: Output

    /// Schedules sending for the end of the turn.
    func scheduleFlush() {
        guard !flushIsScheduled, context != nil else { return }
        flushIsScheduled = true
        connections.flushes.add(self)
    }

    func flushNow() {
        flushIsScheduled = false
        send()
        for stream in due.settling.takeAll() { stream.exchanges?.settle() }
        if phase == .closing, streams.isEmpty { end() }
    }

    private func send() {
        guard let context, let session, !isSending, phase != .ended else { return }
        isSending = true
        defer { isSending = false }
        sendResets()
        releaseHeads()
        repeat {
            if isWritable { session.produce() } else if mustSend { session.produceControl() }
            mustSend = false
            if endIfFailed() { return }
        } while writeOutput(context) && isWritable
        for stream in due.drained.takeAll() where stream.hasRoomAgain() { stream.changeWritability(true) }
    }

    /// - Returns: whether the output was full, so that there may be more.
    func writeOutput(_ context: ChannelHandlerContext) -> Bool {
        guard let session, session.outputBytes > 0 else { return false }
        let isFull = session.outputIsFull
        session.takeOutput { context.write(wrapOutboundOut($0), promise: nil) }
        context.flush()
        return isFull
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        isWritable = context.channel.isWritable
        if isWritable { scheduleFlush() }
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
