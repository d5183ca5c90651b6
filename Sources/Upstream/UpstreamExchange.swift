internal import Curl
internal import HTTP1
package import HTTPTypes
package import NIOCore

/// Hears a backend's response. Called on the event loop.
package protocol UpstreamResponseReceiver: AnyObject {
    func upstreamResponded(_ head: HTTPResponse)
    func upstreamSent(_ body: ByteBuffer)
    /// Nothing more for now: what was sent on can be flushed.
    func upstreamPaused()
    /// - Parameter trailers: as the backend sent them; nil also where the client takes none.
    func upstreamFinished(trailers: HTTPFields?)
    /// There will be no (further) response. After ``upstreamResponded(_:)`` the response is broken off.
    func upstreamFailed(_ fault: UpstreamFault)
    /// More of the request's body can be taken.
    func upstreamWantsBody()
}

/// One request on its way to a backend and its response on the way back.
///
/// Bytes go out as they come, and in as the client takes them: at most one receive and what is pending of one
/// body part are held.
package final class UpstreamExchange {
    private enum Phase { case awaitingHead, body, done }

    let pool: UpstreamPool
    /// Let go when the exchange ends, which breaks the cycle with its owner.
    private(set) var receiver: (any UpstreamResponseReceiver)?
    private(set) var request: ForwardedRequest
    /// What this request is shared out by, where that is by subject.
    let subject: String?
    let timeouts: UpstreamTimeouts
    /// Where it is, or was last; nil while it waits.
    var server: ServerConnections?
    private var connection: UpstreamConnection?
    private var isUp = false
    private var outbound: ByteBuffer
    private var requestIsComplete: Bool
    private var phase = Phase.awaitingHead
    private var headParser = ResponseHeadParser()
    private var bodyDecoder = BodyDecoder(.none)
    private var keepAlive = false
    /// The backend has switched protocols: what goes either way is no HTTP any more.
    private var isTunnel = false
    private var sawResponseByte = false
    private var retries = 0
    /// The client was told that no more body is wanted for now.
    private var isHoldingBack = false
    private var isPaused = false
    private var isReceiving = false
    /// There may be more to receive, after the others' turn.
    private var isYielding = false
    /// Received and not yet understood: the beginning of a head or a chunk line.
    private var inbound: ByteBuffer?

    /// Where this is in the pool's list, -1 when not.
    var activeIndex = -1
    /// When patience ends with what is awaited now.
    private var patience = NIODeadline.distantFuture
    /// When it ends with all of it.
    private var wholeDeadline: NIODeadline
    /// The earlier of the two.
    var deadline: NIODeadline { min(patience, wholeDeadline) }

    init(
        _ request: ForwardedRequest, subject: String?, timeouts: UpstreamTimeouts, pool: UpstreamPool,
        receiver: any UpstreamResponseReceiver
    ) {
        self.pool = pool
        self.subject = subject
        self.timeouts = timeouts
        self.wholeDeadline = timeouts.whole.map { .now() + $0 } ?? .distantFuture
        self.receiver = receiver
        self.request = request
        self.outbound = request.head
        self.requestIsComplete = request.framing == .none
    }

    /// Whether the request can be sent a second time: an idempotent method, and nothing to send but its head.
    var isRepeatable: Bool {
        request.framing == .none && request.isIdempotent
    }

    // MARK: The request

    /// Passes a part of the request's body on.
    ///
    /// - Returns: whether more is wanted now; if not, ``UpstreamResponseReceiver/upstreamWantsBody()`` tells when.
    package func send(body: ByteBuffer) -> Bool {
        guard phase != .done, !requestIsComplete else { return true }
        forgetWhatIsSent()
        if request.framing == .chunked {
            outbound.writeChunk(body)
        } else if outbound.readableBytes == 0 {
            outbound = body
        } else {
            outbound.writeImmutableBuffer(body)
        }
        flush()
        if outbound.readableBytes > 0 {
            isHoldingBack = true
        } else {
            // An earlier part of the same read may have been answered with "no more".
            askForBody()
        }
        return !isHoldingBack
    }

    /// Else what is written behind it would make one buffer of the whole body.
    private func forgetWhatIsSent() {
        if outbound.readableBytes == 0 {
            outbound.clear()
        } else if outbound.readerIndex >= 64 << 10 {
            outbound.discardReadBytes()
        }
    }

    /// The request's body is complete.
    package func finishBody() {
        guard phase != .done, !requestIsComplete else { return }
        if request.framing == .chunked { outbound.writeStaticString("0\r\n\r\n") }
        requestIsComplete = true
        flush()
        // From here on it is the first byte of the response that is waited for, also when nothing was left to send.
        if phase != .done, isUp { setDeadline() }
    }

    /// Stops taking the response until ``resume()``, because the client is slow.
    package func pause() { isPaused = true }

    package func resume() {
        guard isPaused else { return }
        isPaused = false
        guard phase != .done, isUp else { return }
        // The time the client took is not the backend's.
        setDeadline()
        connectionIsReadable()
    }

    /// The client has gone: the connection is closed, which is all HTTP/1.1 has to say so.
    package func cancel() {
        guard phase != .done else { return }
        finish(reuse: false)
    }

    private func flush() {
        guard isUp, let connection else { return }
        var progressed = false
        while outbound.readableBytes > 0 {
            do {
                let sent = try connection.send(outbound)
                guard sent > 0 else { break }
                progressed = true
                outbound.moveReaderIndex(forwardBy: sent)
            } catch {
                // What the backend said before it closed may still be there to read.
                receiveAll()
                // If not now, then the end is found behind it.
                if phase != .done, !isPaused, !isYielding { lost() }
                return
            }
        }
        // A reused connection may take nothing from the start.
        if isTunnel, requestIsComplete, outbound.readableBytes == 0 { connection.shutDownOutput() }
        guard progressed || patience == .distantFuture && !isTunnel else { return }
        setDeadline()
        pool.scheduleDrain()
    }

    /// Waiting for the request's remainder, for the head, or for more of the body.
    private func setDeadline() {
        guard !isTunnel else { return }
        let isAwaitingHead = requestIsComplete && outbound.readableBytes == 0 && phase == .awaitingHead
        patience = .now() + (isAwaitingHead ? timeouts.firstByte : timeouts.idle)
    }

    func deadlinePassed(at now: NIODeadline) {
        if wholeDeadline <= now { return fail(.wholeTimeout) }
        // A client that does not read is the listener's to time out.
        guard phase != .done, !isPaused else { return }
        if !isUp { return fail(.connectTimeout) }
        let isAwaitingHead = requestIsComplete && outbound.readableBytes == 0 && phase == .awaitingHead
        // Nothing to send and not complete: it is the client that is slow.
        if !requestIsComplete && outbound.readableBytes == 0 { return }
        fail(isAwaitingHead && !sawResponseByte ? .firstByteTimeout : .idleTimeout)
    }

    // MARK: The connection

    func isConnecting(_ connection: UpstreamConnection) {
        self.connection = connection
    }

    func connectionIsUp(_ connection: UpstreamConnection) {
        guard phase != .done else {
            connection.close()
            return
        }
        self.connection = connection
        isUp = true
        flush()
        askForBody()
    }

    func connectionIsWritable() {
        flush()
        askForBody()
    }

    private func askForBody() {
        guard isHoldingBack, outbound.readableBytes == 0, phase != .done else { return }
        isHoldingBack = false
        receiver?.upstreamWantsBody()
    }

    func connectionIsReadable() {
        receiveAll()
    }

    /// Its turn has come again.
    func continueReceiving() {
        isYielding = false
        receiveAll()
    }

    func fail(_ fault: UpstreamFault) {
        guard phase != .done else { return }
        let receiver = receiver
        if fault.isTheServers, !isTunnel, let server { pool.failed(server) }
        finish(reuse: false)
        receiver?.upstreamFailed(fault)
    }

    /// Nothing of the request has left yet, so that any may go to another server (RFC 9110 §9.2.2).
    func connectFailed(_ fault: UpstreamFault) {
        guard phase != .done else { return }
        connection = nil
        guard retries < Self.maximumRetries, pool.moveElsewhere(self) else { return fail(fault) }
        retries += 1
        pool.restart(self)
    }

    /// The connection ended too early. A reused one may have been closed by the backend just when the request
    /// was sent, and a new one by a server that is going: what can be repeated is repeated once, on a new connection,
    /// where the server has just been asked on one, at another server (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    private func lost() {
        guard isRepeatable, !sawResponseByte, retries == 0, let connection,
            connection.isReused ? pool.mayRetry() : pool.moveElsewhere(self)
        else { return fail(.connectionLost) }
        retries += 1
        connection.close()
        self.connection = nil
        isUp = false
        outbound = request.head
        patience = .distantFuture
        pool.restart(self)
    }

    private static let maximumRetries = 2

    private func finish(reuse: Bool) {
        phase = .done
        patience = .distantFuture
        receiver = nil
        outbound = ByteBuffer()
        pool.recycle(request.takeHead())
        if let connection {
            self.connection = nil
            isUp = false
            if reuse { server?.giveBack(connection) } else { connection.close() }
        }
        // Who waits for a connection may now take this one.
        pool.ended(self)
    }

    // MARK: The response

    /// How often is received before it is the turn of the loop's other connections: 64 KiB each at most.
    private static let receivesInTurn = 8

    private func receiveAll() {
        guard !isReceiving, !isYielding else { return }
        isReceiving = true
        defer { isReceiving = false }
        var receives = 0
        while phase != .done, let connection, isUp {
            guard receives < Self.receivesInTurn else {
                receiver?.upstreamPaused()
                if phase != .done, !isYielding {
                    isYielding = true
                    pool.continueLater(self)
                }
                return
            }
            if isPaused {
                // What the client is slow to take must at least be on its way to it; that alone may make room.
                receiver?.upstreamPaused()
                guard !isPaused else { return }
                continue
            }
            switch connection.receive() {
            case .nothingYet:
                if phase == .body { receiver?.upstreamPaused() }
                return
            case .end: return ended()
            case .failed: return lost()
            case .bytes(let bytes):
                receives += 1
                understand(bytes)
            }
        }
    }

    private func ended() {
        if phase == .body, bodyDecoder.isUntilClose { return complete(reuse: false) }
        lost()
    }

    private func understand(_ bytes: ByteBuffer) {
        sawResponseByte = true
        var bytes = bytes
        if var earlier = inbound {
            earlier.writeBuffer(&bytes)
            bytes = earlier
            inbound = nil
        }
        do {
            if phase == .awaitingHead { try takeHead(&bytes) }
            if phase == .body { try takeBody(&bytes) }
        } catch {
            return fail(.protocolFault(error.rawValue))
        }
        guard phase != .done else { return }
        if bytes.readableBytes > 0 { inbound = ByteBuffer(bytes: bytes.readableBytesView) }
        // Interim responses and a head in dribbles gain the backend no time.
        if phase != .awaitingHead { setDeadline() }
    }

    private func takeHead(_ bytes: inout ByteBuffer) throws(HTTP1Fault) {
        while let head = try headParser.next(from: &bytes, toHead: request.isHead) {
            if head.response.status == .switchingProtocols { return try switchProtocols(head.response) }
            // RFC 9110 §15.2: interim responses; the gateway has sent its own 100.
            if head.response.status.code < 200 { continue }
            keepAlive = head.keepAlive
            bodyDecoder = BodyDecoder(head.framing)
            phase = .body
            if let server { pool.responded(server, status: head.response.status.code) }
            receiver?.upstreamResponded(head.response)
            return
        }
    }

    /// The client's bytes are no body that has ended, and the backend's are none that its head has measured.
    func becomeTunnel() {
        isTunnel = true
        phase = .body
        bodyDecoder = BodyDecoder(.untilClose)
        requestIsComplete = false
        patience = .distantFuture
        wholeDeadline = .distantFuture
    }

    private func takeBody(_ bytes: inout ByteBuffer) throws(HTTP1Fault) {
        while phase == .body, let part = try bodyDecoder.next(from: &bytes) {
            switch part {
            case .data(let data):
                receiver?.upstreamSent(data)
            case .end:
                // Bytes behind the response belong to no request: whoever sent them is not to be trusted further.
                complete(
                    reuse: keepAlive && requestIsComplete && outbound.readableBytes == 0 && bytes.readableBytes == 0)
            }
        }
    }

    private func complete(reuse: Bool) {
        let receiver = receiver
        finish(reuse: reuse)
        receiver?.upstreamFinished(trailers: request.takesTrailers ? bodyDecoder.trailers : nil)
    }
}
