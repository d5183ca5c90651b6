internal import HTTP1
internal import HTTP2
internal import HTTPTypes
internal import NIOCore

/// One stream of an HTTP/2 connection: input to request parts, response parts to output. It has no channel of its own.
final class HTTP2Stream: MessageCodec, TimedConnection {
    let id: Int32
    /// The stream's connection; nil after the stream has closed.
    private(set) var connection: HTTP2Connection?
    let connections: ConnectionSet
    var exchanges: ExchangeHandler?

    private var incoming = HTTP2IncomingBody()
    /// Whether the client has ended its side.
    private(set) var clientHasEnded = false
    /// Parts received before the request was released to the service; nil from then on.
    private var buffered: [RequestPart]? = []
    /// The part of the body that waits while the service has paused it.
    var input = HTTP2StreamInput()
    /// Whether the request is an extended CONNECT, whose client may be silent indefinitely.
    private var isConnect = false
    private var continueIsDue = false
    var response = HTTP2StreamResponse()
    private(set) var isOver = false
    /// Whether the request has failed; the rest of it is ignored.
    private var hasFailed = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(pace.deadline, reader.deadline) }
    /// The rate and deadline of the request's body.
    var pace: HTTP2UploadPace
    /// The time limits for a client that takes its response slowly.
    var reader: HTTP2SlowReader
    /// Whether the connection calls ``readCompleted()`` at the end of the read.
    var isTouched = false

    init(_ id: Int32, connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
        connections = connection.connections
        pace = connection.pace
        reader = connection.reader
        connections.insert(self)
    }

    /// Called when the stream has closed.
    func close() {
        guard let connection else { return }
        isOver = true
        stopMeasuring()
        if reader.stopWaiting() { connection.endWaiting(at: connections.now) }
        connections.remove(self)
        dropOutput()
        buffered = nil
        // A request waiting for a key set retains the exchange, and thereby the stream.
        input = HTTP2StreamInput()
        exchanges?.detach()
        exchanges = nil
        self.connection = nil
    }

    // MARK: Requests

    func begin(_ head: HTTP2RequestHead, endStream: Bool) {
        pace.isReading = false
        clientHasEnded = endStream
        response.isToHead = head.request.method == .head
        isConnect = head.request.method == .connect
        continueIsDue = head.expectsContinue && !endStream
        pass(.head(head.request))
        let isGood = take { () throws(HTTP1Fault) in
            try incoming.begin(contentLength: head.contentLength, endStream: endStream)
        }
        guard isGood, !endStream, !isConnect, let connection else { return }
        pace.begin(&connection.uploads, at: connections.now)
    }

    /// Called when the head is not a valid request.
    func refuse(_ fault: HTTP1Fault, endStream: Bool) {
        clientHasEnded = endStream
        fail(.http(fault))
    }

    /// Called when trailers have been received. They end the body; their fields are not forwarded.
    func trailersCame(_ fault: HTTP1Fault?, endStream: Bool) {
        clientHasEnded = clientHasEnded || endStream
        take { () throws(HTTP1Fault) in
            // RFC 9113 §8.5: after CONNECT, a stream carries only DATA. §8.1: trailers end the stream.
            guard !isConnect, endStream else { throw .malformedField }
            if let fault { throw fault }
            return try incoming.end()
        }
    }

    func receive(_ part: ByteBuffer) {
        guard !isOver, !hasFailed else { return }
        pace.received(part.readableBytes)
        take { () throws(HTTP1Fault) in try incoming.take(part) }
    }

    func receiveEnd() {
        clientHasEnded = true
        take { () throws(HTTP1Fault) in try incoming.end() }
    }

    /// Called when the client has reset the stream.
    func wasReset() {
        isOver = true
        stopMeasuring()
        buffered = nil
    }

    @discardableResult
    private func take(_ body: () throws(HTTP1Fault) -> HTTP2IncomingBody.Parts) -> Bool {
        guard !isOver, !hasFailed else { return false }
        do throws(HTTP1Fault) {
            pass(try body())
            return true
        } catch {
            fail(.http(error))
            return false
        }
    }

    private func pass(_ parts: HTTP2IncomingBody.Parts) {
        if let body = parts.body {
            continueIsDue = false
            pass(.body(body))
        }
        if parts.hasEnded {
            pace.expectNothing()
            stopMeasuring()
            continueIsDue = false
            pass(.end)
        }
    }

    private func pass(_ part: RequestPart) {
        guard buffered == nil else {
            // The head and the end, mostly.
            if buffered?.isEmpty == true { buffered?.reserveCapacity(2) }
            buffered?.append(part)
            return
        }
        guard let exchanges else { return }
        switch part {
        case .body(let body) where exchanges.isPaused || !input.isEmpty:
            input.store(body)
        case .body(let body):
            deliver(body, to: exchanges)
        case .end where !input.isEmpty:
            input.hasEnded = true
        case .end, .head:
            exchanges.receive(part)
        }
    }

    private func deliver(_ body: ByteBuffer, to exchanges: ExchangeHandler) {
        exchanges.receive(.body(body))
        let count = input.consumed(body.readableBytes, isPaused: exchanges.isPaused)
        connection?.consumed(count, of: id)
    }

    /// Releases the request to the service: everything that arrived in the same read has been checked.
    func release() {
        guard let parts = buffered, !isOver else { return }
        // With `content-length: 0` the request is released when the stream has ended: no body may follow.
        guard !incoming.owesEmptyEnd else { return }
        buffered = nil
        for part in parts { pass(part) }
        exchanges?.readComplete()
        // By now the service has seen the head, and has not refused the request.
        guard continueIsDue, !response.hasBegun, !isOver else { return }
        continueIsDue = false
        connection?.sendContinue(id)
    }

    /// Called at the end of a read with input for this stream.
    func readCompleted() {
        if pace.hasArrived, let connection { pace.measureArrived(&connection.uploads, at: connections.now) }
        if buffered != nil { release() } else { exchanges?.readComplete() }
        resume()
    }

    func resume() {
        while let exchanges, !exchanges.isPaused, let body = input.take() {
            deliver(body, to: exchanges)
            if input.isEmpty, input.hasEnded {
                input.hasEnded = false
                exchanges.receive(.end)
            }
        }
        guard let exchanges, !isOver else { return }
        guard exchanges.wantsBody() else { return }
        let count = input.consumed(0, isPaused: false)
        if count > 0 { connection?.consumed(count, of: id) }
        awaitBytes()
    }

    private func awaitBytes() {
        pace.isReading = true
        if incoming.isOpen, !hasFailed, !response.hasEnded, !isConnect { pace.expectMore(at: connections.now) }
        if pace.isMeasuring, let connection { pace.wait(&connection.uploads, at: connections.now) }
    }

    /// Sends an error response if still possible, and ignores the rest of the request.
    func fail(_ fault: ListenerFault) {
        guard !isOver else { return }
        hasFailed = true
        pace.expectNothing()
        stopMeasuring()
        buffered = nil
        continueIsDue = false
        guard !response.hasBegun else { return reset(.protocolError) }
        // RFC 9113 §8.1.1: a malformed request is a stream error, even after an error response.
        if fault.isMalformed { response.endError = .protocolError }
        exchanges?.fail(fault)
    }

    // MARK: Ends

    /// Called when RST_STREAM was written, for any cause.
    func resetWasWritten() { isOver = true }

    func reset(_ error: HTTP2Error) {
        guard !isOver, let connection else { return }
        // If a response is broken off, the client gets its beginning, as far as it accepts it at once.
        if error == .internalError { sendHead() } else { dropOutput() }
        isOver = true
        stopMeasuring()
        connection.reset(self, error)
        exchanges?.disconnect()
    }

    /// Resets the stream; if its response has not ended, with INTERNAL_ERROR.
    func breakOff() { reset(response.hasEnded ? .noError : .internalError) }

    /// Called on a connection error; the service abandons the request of this stream.
    func connectionFailed() {
        isOver = true
        buffered = nil
        exchanges?.disconnect()
    }

    /// Does nothing: while the connection drains, its streams finish.
    func drain() {}
    /// Does nothing: the connection closes its streams.
    func closeNow() {}

    /// Tells the sink to close its WebSocket now.
    func closeTunnel() { exchanges?.mustClose() }
}

extension ListenerFault {
    /// Whether the message is malformed in HTTP/2. A request that is too long, too slow or not supported is
    /// well-formed.
    fileprivate var isMalformed: Bool {
        guard case .http(let fault) = self else { return false }
        switch fault {
        case .fieldsTooLarge, .tooManyFields, .targetTooLong, .unsupportedExpectation: return false
        default: return true
        }
    }
}
