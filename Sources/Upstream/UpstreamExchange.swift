internal import Curl
internal import HTTP1
internal import NIOCore
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
    var connection: UpstreamConnection?
    var isUp = false
    /// Whether anything of the request has left on this connection.
    var hasSent = false
    var outbound: OutboundBytes
    var response: ResponseReader
    var isDone = false
    /// The backend has switched protocols: what goes either way is no HTTP any more.
    var isTunnel = false
    /// How often it was begun again.
    package private(set) var retries = 0
    /// The client was told that no more body is wanted for now.
    var isHoldingBack = false
    /// The bytes of the request that are there leave at the end of this turn.
    var isGathering = false
    var isPaused = false
    var isReceiving = false
    /// There may be more to receive, after the others' turn.
    var isYielding = false

    /// How often is received before it is the turn of the loop's other connections: 64 KiB each at most. Fewer where each
    /// costs the receiver much.
    package var receivesInTurn = 8

    /// Where this is in the pool's list, -1 when not.
    var activeIndex = -1
    /// When patience ends with what is awaited now.
    var patience = NIODeadline.distantFuture
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

    private var isAwaitingHead: Bool {
        outbound.isAllSent && response.awaitsHead
    }

    /// Only the rest of a response is awaited.
    var isAwaitingBody: Bool {
        outbound.isAllSent && !response.awaitsHead
    }

    /// Waiting for the request's remainder, for the head, or for more of the body.
    func setDeadline() {
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

    /// Replaces a pooled connection that has ended, or on which bytes came, before the request was sent. Such bytes are
    /// the rest of an earlier response, perhaps another client's, or a 408 (RFC 9110 §15.5.9). Nothing has left yet,
    /// so any request may go on another connection, and no retry is spent.
    func takeAnotherConnection() {
        connection?.close()
        connection = nil
        isUp = false
        patience = .distantFuture
        pool.reconnect(self)
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
    func lost() {
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

    /// The client's bytes are no body that has ended, and the backend's are none that its head has measured.
    func becomeTunnel() {
        isTunnel = true
        response.becomeTunnel()
        outbound.becomeTunnel()
        patience = .distantFuture
        wholeDeadline = .distantFuture
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

    private static let maximumRetries = 2

    func finish(reuse: Bool) {
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
}
