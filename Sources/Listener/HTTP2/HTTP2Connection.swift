internal import NIOCore
internal import NIOHTTP2
internal import NIOSSL

/// One HTTP/2 connection as a whole: its streams, its end, its time. The frames themselves are SwiftNIO's.
final class HTTP2Connection: ChannelInboundHandler, TimedConnection {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private enum Phase {
        case open
        /// The first GOAWAY is out, which refuses nothing yet; when the PING behind it has come back, the client
        /// knows that it is to open no more streams (RFC 9113 §6.8).
        case announced
        /// The second GOAWAY is out. Requests that have begun are finished.
        case closing
        /// Nothing more is sent; input is read and thrown away for a little, so that no reset overtakes the GOAWAY.
        case ended
    }

    private let settings: ListenerSettings
    private let frames: HTTP2FrameWatch
    private let heads: HTTP2HeadWatch
    private let peer: String
    private let service: any RequestService
    private let connections: ConnectionSet
    private var streams: [HTTP2StreamID: HTTP2StreamCodec] = [:]
    /// The highest number of a stream that was opened.
    private var lastStreamID = HTTP2StreamID.rootStream
    /// Streams whose request waits until the whole read has been looked at.
    private var buffered: [HTTP2StreamCodec] = []
    /// Of bodies that clients send, and of responses that they take.
    var uploads: SharedRate
    private(set) var downloads: SharedRate
    private var waitingStreams = 0
    /// The bytes that the client had acknowledged at the last look.
    private var acknowledgedBytes: UInt64 = 0
    /// Parts of DATA frames that SwiftNIO stores until their streams are read from.
    private var storedParts = 0
    private var phase = Phase.open
    private var context: ChannelHandlerContext?
    /// It has been told to close, and waits for its WebSockets.
    private var isClosing = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(deadline, heads.deadline, lingering.deadline) }
    private var deadline = NIODeadline.distantFuture
    private var lingering = Lingering()

    /// The connection's window, of a megabyte, in segments of the least size that IPv4 asks for (536 bytes, RFC 9293
    /// §3.7.1). A stored part takes up to a page of memory, however few bytes it has.
    private static let mostStoredParts = 2_048
    /// How long a client may take to say goodbye on a connection that has nothing more for it.
    private static let farewell = TimeAmount.seconds(2)
    private static let announcement = TimeAmount.seconds(1)
    private static let drainPing = HTTP2PingData(withInteger: 0x6472_6169_6E00)

    init(
        _ settings: ListenerSettings, frames: HTTP2FrameWatch, heads: HTTP2HeadWatch, service: any RequestService,
        connections: ConnectionSet, peer: String
    ) {
        self.settings = settings
        self.frames = frames
        self.heads = heads
        self.peer = peer
        self.service = service
        self.connections = connections
        let rate = SharedRate(settings.leastRate, grace: settings.leastRateGrace)
        (uploads, downloads) = (rate, rate)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        deadline = connections.now + settings.keepAliveTimeout
        connections.insert(self)
        service.connectionOpened()
        frames.onFlood = { [unowned self] in endFlood() }
        frames.onParts = { [unowned self] id, count in store(id, count) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        connections.remove(self)
        for _ in streams { service.streamClosed() }
        streams.removeAll()
        service.connectionClosed()
        self.context = nil
        frames.onData = nil
        frames.onFlood = nil
        frames.onParts = nil
        frames.onDiscarded = nil
    }

    // MARK: Streams

    func opened(_ id: HTTP2StreamID, _ stream: HTTP2StreamCodec) {
        streams[id] = stream
        service.streamOpened()
        lastStreamID = max(lastStreamID, id)
        if phase == .open { deadline = .distantFuture }
    }

    func closed(_ id: HTTP2StreamID) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        took(stream.storedParts)
        service.streamClosed()
        guard streams.isEmpty else { return }
        switch phase {
        case .open: deadline = connections.now + settings.keepAliveTimeout
        case .closing: end()
        case .announced, .ended: break
        }
    }

    /// Releases `stream`'s request once all that came together with its head is known: what is malformed or reset
    /// by then never reaches the service.
    func hold(_ stream: HTTP2StreamCodec) {
        buffered.append(stream)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // The streams get their frames now.
        context.fireChannelReadComplete()
        let due = buffered
        buffered.removeAll(keepingCapacity: true)
        for stream in due { stream.release() }
    }

    /// Counts what came for a stream that is not read from. Flow control bounds the bytes, and not what each part takes
    /// to be remembered.
    private func store(_ id: Int32, _ count: Int) {
        guard let stream = streams[HTTP2StreamID(id)], stream.store(count) else { return }
        storedParts += count
        if storedParts > Self.mostStoredParts { endFlood() }
    }

    /// A stream has been given what was stored for it, or has gone.
    func took(_ count: Int) { storedParts -= count }

    /// A stream begins to wait for its client to take what was written.
    func beginWaiting(at now: NIODeadline) {
        waitingStreams += 1
        downloads.join()
        downloads.wait(at: now)
        guard waitingStreams == 1 else { return }
        acknowledgedBytes = context.flatMap { AcknowledgedBytes.of($0.channel) } ?? 0
        frames.onData = { [unowned self] id, count in
            streams[HTTP2StreamID(id)]?.bodyWasSent(count, at: connections.now)
        }
    }

    /// Looks how much the client has taken of all streams.
    func measureDownloads(at now: NIODeadline) {
        guard let context, let acknowledged = AcknowledgedBytes.of(context.channel), acknowledged > acknowledgedBytes
        else { return }
        downloads.moved(Int(clamping: acknowledged - acknowledgedBytes), at: now)
        acknowledgedBytes = acknowledged
    }

    func endWaiting(at now: NIODeadline) {
        waitingStreams -= 1
        downloads.stopWaiting(at: now)
        downloads.leave()
        if waitingStreams == 0 { frames.onData = nil }
    }

    // MARK: Frames and faults

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .ping(let ping, ack: true) = unwrapInboundIn(data).payload else {
            return context.fireChannelRead(data)
        }
        if phase == .announced, ping == Self.drainPing { refuseMore(context) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if frames.connectionHasFailed {
            fail()
        } else if error is NIOHTTP2Errors.StreamError {
            context.fireErrorCaught(error)
        } else if error is any NIOHTTP2Error, !(error is NIOHTTP2Errors.RaisedGoawayLastStreamID) {
            // The fault of one stream, which has been reset.
        } else {
            context.close(promise: nil)
        }
    }

    /// The client broke the rules of the connection, and has been told so.
    private func fail() {
        guard phase != .ended else { return }
        if let error = HTTP2ConnectionError(rawValue: frames.errorCode) { service.connectionFailed(error) }
        for stream in streams.values { stream.connectionFailed() }
        end()
    }

    private func endFlood() {
        guard let context else { return }
        goAway(lastStreamID, context, code: .enhanceYourCalm)
        fail()
    }

    /// No stream is there yet that could have the answer.
    private func endHead() {
        let fault: ListenerFault = heads.isTooSlow ? .requestTooSlow : .requestTimeout
        heads.stop()
        guard phase != .ended else { return }
        _ = service.refuse(fault, peer: peer)
        endFlood()
    }

    // MARK: Ends

    private func goAway(
        _ lastStreamID: HTTP2StreamID, _ context: ChannelHandlerContext, code: NIOHTTP2.HTTP2ErrorCode = .noError
    ) {
        let frame = HTTP2Frame(
            streamID: .rootStream,
            payload: .goAway(lastStreamID: lastStreamID, errorCode: code, opaqueData: nil))
        context.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    func drain() {
        guard phase == .open, let context else { return }
        guard context.channel.isActive else { return context.close(promise: nil) }
        phase = .announced
        deadline = connections.now + Self.announcement
        goAway(.maxID, context)
        let ping = HTTP2Frame(streamID: .rootStream, payload: .ping(Self.drainPing, ack: false))
        context.writeAndFlush(wrapOutboundOut(ping), promise: nil)
    }

    private func refuseMore(_ context: ChannelHandlerContext) {
        phase = .closing
        deadline = .distantFuture
        goAway(lastStreamID, context)
        if streams.isEmpty { end() }
    }

    private func end() {
        guard phase != .ended, let context else { return }
        phase = .ended
        discardInput()
        // A slow client gets time to take the rest.
        deadline = connections.now + settings.keepAliveTimeout
        let sent = context.eventLoop.makePromise(of: Void.self)
        sent.futureResult.assumeIsolated().whenComplete { _ in
            self.deadline = .distantFuture
            self.lingering.begin(at: self.connections.now)
        }
        context.close(mode: .output, promise: sent)
    }

    private func discardInput() {
        frames.onDiscarded = { [unowned self] count in
            if !lingering.received(count, at: connections.now) { context?.close(promise: nil) }
        }
    }

    func deadlinePassed() {
        guard let context else { return }
        if heads.deadline <= connections.now { return endHead() }
        switch phase {
        case .open, .announced: refuseMore(context)
        case .closing: break
        case .ended: context.close(promise: nil)
        }
    }

    var idleSince: NIODeadline? {
        guard phase == .open, streams.isEmpty, heads.deadline == .distantFuture, let context,
            SlowReader.unsentBytes(of: context.channel) == 0
        else { return nil }
        return deadline - settings.keepAliveTimeout
    }

    func evict() {
        guard let context else { return }
        goAway(lastStreamID, context)
        // TLS waits for the client's goodbye; meanwhile the connection is no longer idle.
        phase = .ended
        discardInput()
        deadline = connections.now + Self.farewell
        context.close(promise: nil)
    }

    func closeNow() {
        let tunnels = streams.values.filter(\.isTunnel)
        if !isClosing, !tunnels.isEmpty {
            isClosing = true
            for tunnel in tunnels { tunnel.closeTunnel() }
            return
        }
        context?.close(promise: nil)
    }
}
