internal import HTTP1
internal import HTTP2
internal import HTTPTypes
internal import NIOCore

/// One stream of an HTTP/2 connection: what comes on it to request parts, response parts to what goes out. It has no
/// channel of its own.
final class HTTP2Stream: MessageCodec, TimedConnection {
    let id: Int32
    /// Nil when the stream has gone.
    private(set) var connection: HTTP2Connection?
    let connections: ConnectionSet
    var exchanges: ExchangeHandler?

    private var incoming = HTTP2IncomingBody()
    /// The client has ended its side.
    private(set) var clientHasEnded = false
    /// Parts that came before the request was released; nil from then on.
    private var buffered: [RequestPart]? = []
    /// The part of the body that waits until the service wants more of it.
    var input = HTTP2StreamInput()
    /// An extended CONNECT: its client may be silent for as long as it likes.
    private var isConnect = false
    private var continueIsDue = false
    var response = HTTP2StreamResponse()
    private(set) var isOver = false
    /// The rest of the request is of no interest.
    private var hasFailed = false

    var setIndex = -1
    var nextDeadline: NIODeadline { min(pace.deadline, reader.deadline) }
    /// Of the body that the client sends.
    var pace: HTTP2UploadPace
    /// For a client that is slow to take its response.
    var reader: HTTP2SlowReader
    /// Whether the connection calls ``readCompleted()`` at the end of the read.
    var isTouched = false

    init(_ id: Int32, _ settings: ListenerSettings, connection: HTTP2Connection, connections: ConnectionSet) {
        self.id = id
        self.connection = connection
        self.connections = connections
        pace = HTTP2UploadPace(settings)
        reader = HTTP2SlowReader(settings)
        connections.insert(self)
    }

    /// The stream has gone.
    func close() {
        guard let connection else { return }
        isOver = true
        stopMeasuring()
        if reader.stopWaiting() { connection.endWaiting(at: connections.now) }
        connections.remove(self)
        dropOutput()
        buffered = nil
        // Whoever waits for a key set holds the exchange, and with it the stream.
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

    /// The head is none of a request.
    func refuse(_ fault: HTTP1Fault, endStream: Bool) {
        clientHasEnded = endStream
        fail(.http(fault))
    }

    /// Trailers have come. They end the body; no field of theirs goes on.
    func trailersCame(_ fault: HTTP1Fault?, endStream: Bool) {
        clientHasEnded = clientHasEnded || endStream
        take { () throws(HTTP1Fault) in
            // RFC 9113 §8.5: on a stream that is a connection there is nothing but DATA. §8.1: trailers are the end.
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

    /// The client has reset the stream.
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

    /// Lets the service have the request: all that came in one read with it has been seen.
    func release() {
        guard let parts = buffered, !isOver else { return }
        // `content-length: 0` is believed when the stream has ended: no body may follow.
        guard !incoming.owesEmptyEnd else { return }
        buffered = nil
        for part in parts { pass(part) }
        exchanges?.readComplete()
        // By now the service has seen the head, and has not refused the request.
        guard continueIsDue, !response.hasBegun, !isOver else { return }
        continueIsDue = false
        connection?.sendContinue(id)
    }

    /// The read that brought something for this stream is at its end.
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

    /// Answers if that is still possible, and wants no more of the client's.
    func fail(_ fault: ListenerFault) {
        guard !isOver else { return }
        hasFailed = true
        pace.expectNothing()
        stopMeasuring()
        buffered = nil
        continueIsDue = false
        guard !response.hasBegun else { return reset(.protocolError) }
        // RFC 9113 §8.1.1: a malformed request is a stream error, whatever is answered before.
        if fault.isMalformed { response.endError = .protocolError }
        exchanges?.fail(fault)
    }

    // MARK: Ends

    /// RST_STREAM went out, whoever wanted it.
    func resetWasWritten() { isOver = true }

    func reset(_ error: HTTP2Error) {
        guard !isOver, let connection else { return }
        // The client gets the beginning of a response that is broken off, as far as it takes it at once.
        if error == .internalError { sendHead() } else { dropOutput() }
        isOver = true
        stopMeasuring()
        connection.reset(self, error)
        exchanges?.disconnect()
    }

    /// Whoever closes a stream that is not at its end breaks its response off.
    func breakOff() { reset(response.hasEnded ? .noError : .internalError) }

    /// Nothing of the connection can be trusted any more; the service gives up what it does for this stream.
    func connectionFailed() {
        isOver = true
        buffered = nil
        exchanges?.disconnect()
    }

    /// The connection drains; its streams finish.
    func drain() {}
    /// The connection closes, and its streams with it.
    func closeNow() {}

    /// A WebSocket is to be closed now.
    func closeTunnel() { exchanges?.mustClose() }
}

extension ListenerFault {
    /// Whether no HTTP/2 message can be like that. One that is too long, too slow or not served is well formed.
    fileprivate var isMalformed: Bool {
        guard case .http(let fault) = self else { return false }
        switch fault {
        case .fieldsTooLarge, .tooManyFields, .targetTooLong, .unsupportedExpectation: return false
        default: return true
        }
    }
}
