internal import Curl
internal import HTTP1
internal import HTTPTypes
package import NIOCore
internal import Pipeline

/// One request on its way to a backend and its response on the way back.
///
/// Bytes go out as they come, and in as the client takes them: at most one receive, 64 KiB of the body and one more part
/// of it are held.
package final class UpstreamExchange: CurlDeparture {
    let pool: UpstreamPool
    /// Let go when the exchange ends, which breaks the cycle with its owner.
    private(set) var receiver: (any UpstreamResponseReceiver)?
    private(set) var request: ForwardedRequest
    /// The subject by which this request is assigned to a server; nil if the balance does not go by subject.
    let subject: String?
    let timeouts: UpstreamTimeouts
    /// Where it is; nil while it waits, and when it has ended.
    private(set) var server: ServerConnections?
    /// The position in the settings of the server where it is or was last; nil where it never came to one.
    package private(set) var serverNumber: Int?
    private var connection: UpstreamConnection?
    private var isUp = false
    /// Whether anything of the request has left on this connection.
    private var hasSent = false
    private var outbound: OutboundBytes
    private var response: ResponseReader
    private var isDone = false
    /// The backend has switched protocols: what goes either way is no HTTP any more.
    private var isTunnel = false
    /// How often it was begun again.
    package private(set) var retries = 0
    /// The client was told that no more body is wanted for now.
    private var isHoldingBack = false
    /// The bytes of the request that are there leave at the end of this turn.
    private var isGathering = false
    private var isPaused = false
    private var isReceiving = false
    /// There may be more to receive, after the others' turn.
    private var isYielding = false

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
        copiesLines: Bool, receiver: any UpstreamResponseReceiver
    ) {
        self.pool = pool
        self.subject = subject
        self.timeouts = timeouts
        self.wholeDeadline = timeouts.whole.map { .now() + $0 } ?? .distantFuture
        self.receiver = receiver
        self.request = request
        self.outbound = OutboundBytes(request)
        self.response = ResponseReader(toHead: request.isHead, copiesLines: copiesLines)
    }

    /// Whether the request can be sent a second time: an idempotent method, and nothing to send but its head.
    var isRepeatable: Bool {
        request.framing == .none && request.isIdempotent
    }

    // MARK: The request

    /// Passes a part of the request's body on.
    ///
    /// The parts of one turn leave together, at its end at the latest: sending one byte costs as much as sending
    /// thousands.
    ///
    /// - Returns: whether more is wanted now; if not, ``UpstreamResponseReceiver/upstreamWantsBody()`` tells when.
    package func send(body: ByteBuffer) -> Bool {
        guard !isDone, !outbound.isComplete else { return true }
        outbound.append(body)
        // The connection reports when it is up, or takes bytes again.
        guard !isHoldingBack else { return false }
        if isUp, !outbound.isMuch {
            gather()
            return true
        }
        flush()
        isHoldingBack = !outbound.isEmpty
        return !isHoldingBack
    }

    private func gather() {
        guard !isGathering else { return }
        isGathering = true
        pool.sendLater(self)
    }

    /// The request's body is complete.
    package func finishBody() {
        guard !isDone, !outbound.isComplete else { return }
        outbound.end()
        if !isGathering { flush() }
        // From here on it is the first byte of the response that is waited for, also when nothing was left to send.
        if !isDone, isUp { setDeadline() }
    }

    /// Stops taking the response until ``resume()``, because the client is slow.
    package func pause() { isPaused = true }

    package func resume() {
        guard isPaused else { return }
        isPaused = false
        guard !isDone, isUp else { return }
        // The time the client took is not the backend's.
        setDeadline()
        connectionIsReadable()
    }

    /// The client has gone: the connection is closed, which is all HTTP/1.1 has to say so, and reset where the request
    /// was not sent to its end.
    package func cancel() {
        guard !isDone else { return }
        if isTunnel, isGathering, let connection {
            // The client's last frames, unlike the beginning of a body, are of use. A backend that takes none has gone.
            while !outbound.isEmpty, let count = try? connection.send(outbound), count > 0 { outbound.sent(count) }
        }
        finish(reuse: false)
    }

    private func flush() {
        sendWhatWaits()
        if !outbound.isEmpty { outbound.keep() }
    }

    private func sendWhatWaits() {
        guard isUp, let connection else { return }
        guard hasSent || !connection.isReused || connection.isSilent() else { return takeAnotherConnection() }
        var progressed = false
        while !outbound.isEmpty {
            do {
                let count = try connection.send(outbound)
                guard count > 0 else { break }
                progressed = true
                hasSent = true
                outbound.sent(count)
            } catch {
                if !hasSent, connection.isReused { return takeAnotherConnection() }
                // Bytes that the backend sent before it closed may still be there to read.
                receiveAll()
                // If not now, then the end is found behind it, unless it was found just now and led to a retry.
                if !isDone, !isPaused, !isYielding, self.connection === connection { lost() }
                return
            }
        }
        // A reused connection may take nothing from the start.
        if isTunnel, outbound.isAllSent { connection.shutDownOutput() }
        guard progressed || patience == .distantFuture && !isTunnel else { return }
        setDeadline()
    }

    private var isAwaitingHead: Bool {
        outbound.isAllSent && response.awaitsHead
    }

    /// Only the rest of a response is awaited.
    var isAwaitingBody: Bool {
        outbound.isAllSent && !response.awaitsHead
    }

    /// Waiting for the request's remainder, for the head, or for more of the body.
    private func setDeadline() {
        guard !isTunnel else { return }
        patience = .now() + (isAwaitingHead ? timeouts.firstByte : timeouts.idle)
    }

    func deadlinePassed(at now: NIODeadline) {
        if wholeDeadline <= now { return fail(.wholeTimeout) }
        // A client that does not read is the listener's to time out.
        guard !isDone, !isPaused else { return }
        // Nothing to send and not complete: it is the client that is slow.
        if !outbound.isComplete && outbound.isEmpty { return }
        fail(isAwaitingHead && !response.hasBegun ? .firstByteTimeout : .idleTimeout)
    }

    // MARK: The connection

    func isPlaced(at server: ServerConnections) {
        self.server = server
        serverNumber = server.number
    }

    /// - Returns: where it was; nil where it waited.
    func leaveServer() -> ServerConnections? {
        server.take()
    }

    func isConnecting(_ connection: UpstreamConnection) {
        self.connection = connection
    }

    func connectionIsUp(_ connection: UpstreamConnection) {
        guard !isDone else {
            connection.close()
            return
        }
        self.connection = connection
        isUp = true
        flush()
        askForBody()
    }

    /// A connection that is up already. The request leaves at the end of the turn with the others of it, so that the
    /// backend is woken once for all and not for each.
    func takes(_ connection: UpstreamConnection) {
        self.connection = connection
        isUp = true
        gather()
    }

    package func depart() {
        isGathering = false
        flush()
        isHoldingBack = isHoldingBack || !outbound.isEmpty && !outbound.isComplete
        // The client may have been held back while a connection was replaced.
        askForBody()
    }

    /// Replaces a pooled connection that has ended, or on which bytes came, before the request was sent. Such bytes are
    /// the rest of an earlier response, perhaps another client's, or a 408 (RFC 9110 §15.5.9). Nothing has left yet,
    /// so any request may go on another connection, and no retry is spent.
    private func takeAnotherConnection() {
        connection?.close()
        connection = nil
        isUp = false
        patience = .distantFuture
        pool.reconnect(self)
    }

    func connectionIsWritable() {
        flush()
        askForBody()
    }

    private func askForBody() {
        guard isHoldingBack, outbound.isEmpty, !isDone else { return }
        isHoldingBack = false
        receiver?.upstreamWantsBody()
    }

    func connectionIsReadable() {
        if !hasSent, isUp, let connection, connection.isReused {
            if !connection.isSilent() { takeAnotherConnection() }
            return
        }
        receiveAll()
    }

    /// Its turn has come again.
    func continueReceiving() {
        isYielding = false
        receiveAll()
    }

    func fail(_ fault: UpstreamFault) {
        guard !isDone else { return }
        let receiver = receiver
        if fault.isTheServers, !isTunnel, let server { pool.failed(server, self, by: fault) }
        finish(reuse: false)
        receiver?.upstreamFailed(fault)
    }

    /// Nothing of the request has left yet, so that any may go to another server (RFC 9110 §9.2.2).
    func connectFailed(_ fault: UpstreamFault) {
        guard !isDone else { return }
        connection = nil
        guard retries < Self.maximumRetries, pool.moveElsewhere(self, because: fault) else { return fail(fault) }
        retries += 1
        pool.restart(self)
    }

    /// The connection ended too early. A reused one may have been closed by the backend just when the request
    /// was sent, and a new one by a server that is going: what can be repeated is repeated once, on a new connection,
    /// where the server has just been asked on one, at another server (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    private func lost() {
        guard isRepeatable, !response.hasBegun, retries == 0, let connection,
            connection.isReused ? pool.mayRetry() : pool.moveElsewhere(self, because: .connectionLost)
        else { return fail(.connectionLost) }
        retries += 1
        connection.close()
        self.connection = nil
        isUp = false
        hasSent = false
        outbound = OutboundBytes(request)
        patience = .distantFuture
        pool.restart(self)
    }

    private static let maximumRetries = 2

    private func finish(reuse: Bool) {
        isDone = true
        // RFC 9112 §8: a message that breaks off is incomplete. Not every backend looks, so that an orderly end of the
        // connection would do for the end of the body. Where a body may stray in, it can come at any later time, and
        // hold a whole response that an attacker has written (an upload, asked for by HEAD): no other request may meet
        // it. A reset, since an orderly end leaves the connection's port unusable for a minute, and clients can cause
        // many.
        let breaksOff = !isTunnel && (!outbound.isAllSent || response.mayStrayBody)
        patience = .distantFuture
        receiver = nil
        outbound.drop()
        // The loop receives the next response in the same buffer, unless somebody else holds it. TLS is asked for more
        // before the connection is given back, and takes another one for that.
        response.dropRest()
        pool.recycle(request.takeHead())
        if let connection {
            self.connection = nil
            isUp = false
            if reuse {
                server?.giveBack(connection)
            } else if breaksOff {
                connection.reset()
            } else {
                connection.close()
            }
        }
        // An exchange that waits for a connection may now take this one.
        pool.ended(self)
    }

    // MARK: The response

    /// How often is received before it is the turn of the loop's other connections: 64 KiB each at most. Fewer where each
    /// costs the receiver much.
    package var receivesInTurn = 8

    private func receiveAll() {
        guard !isReceiving, !isYielding else { return }
        isReceiving = true
        defer { isReceiving = false }
        var receives = 0
        while !isDone, let connection, isUp {
            guard receives < receivesInTurn else {
                receiver?.upstreamPaused()
                if !isDone, !isYielding {
                    isYielding = true
                    pool.continueLater(self)
                }
                return
            }
            if isPaused {
                // Bytes that wait for a slow client must at least be flushed to it; that alone may make room.
                receiver?.upstreamPaused()
                guard !isPaused else { return }
                continue
            }
            switch connection.receive() {
            case .nothingYet:
                if !response.awaitsHead { receiver?.upstreamPaused() }
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
        if response.isUntilClose { return complete(reuse: false) }
        lost()
    }

    private func understand(_ bytes: ByteBuffer) {
        response.receive(bytes)
        do {
            while !isDone, let part = try response.next() { try take(part) }
        } catch {
            return fail(.protocolFault(error.rawValue))
        }
        guard !isDone else { return }
        response.keepRest()
        // Interim responses and a head in dribbles gain the backend no time.
        if !response.awaitsHead { setDeadline() }
    }

    private func take(_ part: ResponseReader.Part) throws(HTTP1Fault) {
        switch part {
        case .head(let head) where head.status == .switchingProtocols: try switchProtocols(head)
        case .head(let head):
            if let server { pool.responded(server, status: head.status.code, to: self) }
            receiver?.upstreamResponded(head)
        case .data(let data): receiver?.upstreamSent(data)
        case .end:
            // Bytes behind the response belong to no request: whoever sent them is not to be trusted further.
            if response.hasRest { server?.sawUnsolicitedBytes() }
            complete(
                reuse: response.keepAlive && outbound.isAllSent && !response.hasRest
                    && !response.mayStrayBody)
        }
    }

    /// The client's bytes are no body that has ended, and the backend's are none that its head has measured.
    func becomeTunnel() {
        isTunnel = true
        response.becomeTunnel()
        outbound.becomeTunnel()
        patience = .distantFuture
        wholeDeadline = .distantFuture
    }

    private func complete(reuse: Bool) {
        let receiver = receiver
        finish(reuse: reuse)
        receiver?.upstreamFinished(trailers: request.takesTrailers ? response.trailers : nil)
    }
}
