internal import Curl
internal import HTTP1
internal import NIOCore
internal import Pipeline

/// One request to a backend and its response.
///
/// Request bytes are sent as they arrive, and response bytes are received as the client takes them. At most one
/// receive, 64 KiB of the body and one further part of it are buffered.
package final class UpstreamExchange: EndOfTurnSender {
    let pool: UpstreamPool
    /// The receiver of the response; nil after the end of the exchange, which breaks the retain cycle with its owner.
    private(set) var receiver: (any UpstreamResponseReceiver)?
    private(set) var request: ForwardedRequest
    /// The subject by which this request is assigned to a server; nil if the upstream does not balance by subject.
    let subject: String?
    let timeouts: UpstreamTimeouts
    /// The server to which the request is assigned; nil while it is queued, and after it has ended.
    private(set) var server: ServerConnections?
    /// The index, in the settings, of the current or last server; nil if the request was never assigned to one.
    package var serverNumber: Int? { number }
    private var number: Int?
    var connection: UpstreamConnection?
    var isUp = false
    /// Whether any byte of the request has been sent on this connection.
    var hasSent = false
    var outbound: OutboundBytes
    var response: ResponseReader
    var isDone = false
    /// Whether the backend has switched protocols: the bytes in both directions are no longer HTTP.
    var isTunnel = false
    /// The number of retries.
    package var retries: Int { retryCount }
    private var retryCount = 0
    /// Whether the client has been told to pause the body.
    var isHoldingBack = false
    /// Whether the unsent bytes are sent at the end of this turn.
    var isGathering = false
    var isPaused = false
    var isReceiving = false
    /// Whether receiving continues after other connections have had their turn.
    var isYielding = false

    /// The number of receives, of at most 64 KiB each, before the loop's other connections get their turn. It is lower
    /// if each receive is expensive for the receiver.
    package var receivesInTurn = 8

    /// The index in the pool's list of active exchanges; -1 if not in the list.
    var activeIndex = -1
    /// The deadline for what is awaited now.
    var patience = NIODeadline.distantFuture
    /// The deadline for the whole exchange.
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

    /// Whether the request can be sent again: its method is idempotent and it has no body.
    var isRepeatable: Bool {
        request.framing == .none && request.isIdempotent
    }

    private var isAwaitingHead: Bool {
        outbound.isAllSent && response.awaitsHead
    }

    /// Whether only the rest of a response is awaited.
    var isAwaitingBody: Bool {
        outbound.isAllSent && !response.awaitsHead
    }

    /// Restarts the deadline for the rest of the request, the response's head, or more of its body.
    func setDeadline() {
        guard !isTunnel else { return }
        patience = .now() + (isAwaitingHead ? timeouts.firstByte : timeouts.idle)
    }

    func deadlinePassed(at now: NIODeadline) {
        if wholeDeadline <= now { return fail(.wholeTimeout) }
        // The listener enforces the timeout of a client that does not read.
        guard !isDone, !isPaused else { return }
        // If there is nothing to send although the request is incomplete, the client is slow.
        if !outbound.isComplete && outbound.isEmpty { return }
        fail(isAwaitingHead && !response.hasBegun ? .firstByteTimeout : .idleTimeout)
    }

    // MARK: The connection

    func isPlaced(at server: ServerConnections) {
        self.server = server
        number = server.number
    }

    /// - Returns: the server to which the exchange was assigned; nil if it was queued.
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

    /// Takes an established connection. The request is sent at the end of the turn together with others, so that the
    /// backend is woken once for all of them.
    func takes(_ connection: UpstreamConnection) {
        self.connection = connection
        isUp = true
        gather()
    }

    /// Replaces a pooled connection that ended, or on which bytes arrived, before the request was sent. Such bytes are
    /// the rest of an earlier response, possibly another client's, or a 408 (RFC 9110 §15.5.9). Nothing has been sent
    /// yet, so any request may use another connection, and no retry is counted.
    func takeAnotherConnection() {
        connection?.close()
        connection = nil
        isUp = false
        patience = .distantFuture
        pool.reconnect(self)
    }

    func fail(_ error: UpstreamError) {
        guard !isDone else { return }
        let receiver = receiver
        if error.countsAgainstServer, !isTunnel, let server { pool.failed(server, self, by: error) }
        finish(reuse: false)
        receiver?.upstreamFailed(error)
    }

    /// Handles a failed connection attempt. Nothing of the request has been sent, so any request may go to another
    /// server (RFC 9110 §9.2.2).
    func connectFailed(_ error: UpstreamError) {
        guard !isDone else { return }
        connection = nil
        guard retryCount < Self.maximumRetries, pool.moveElsewhere(self, because: error) else { return fail(error) }
        retryCount += 1
        pool.restart(self)
    }

    /// Handles a connection that ended too early. The backend may have closed a reused one just when the request was
    /// sent, and a server that is shutting down may close a new one. A repeatable request is repeated once on a new
    /// connection; if the lost connection was new, at another server (RFC 9110 §9.2.2, RFC 9112 §9.3.1).
    func lost() {
        guard isRepeatable, !response.hasBegun, retryCount == 0, let connection,
            connection.isReused ? pool.mayRetry() : pool.moveElsewhere(self, because: .connectionLost)
        else { return fail(.connectionLost) }
        retryCount += 1
        connection.close()
        self.connection = nil
        isUp = false
        hasSent = false
        outbound = OutboundBytes(request)
        patience = .distantFuture
        pool.restart(self)
    }

    /// Switches to a tunnel: bytes in both directions are no longer bodies with an end or length, and no deadline
    /// applies.
    func becomeTunnel() {
        isTunnel = true
        response.becomeTunnel()
        outbound.becomeTunnel()
        patience = .distantFuture
        wholeDeadline = .distantFuture
    }

    /// Cancels the exchange because the client has disconnected. HTTP/1.1 can signal that only by closing the
    /// connection; it is reset if the request was not sent completely.
    package func cancel() {
        guard !isDone else { return }
        if isTunnel, isGathering, let connection {
            // Unlike the beginning of a body, the client's last frames are useful. A backend that accepts none has
            // disconnected.
            while !outbound.isEmpty, let count = try? connection.send(outbound), count > 0 { outbound.sent(count) }
        }
        finish(reuse: false)
    }

    private static let maximumRetries = 2

    func finish(reuse: Bool) {
        isDone = true
        // RFC 9112 §8: a message that breaks off is incomplete. Not every backend checks that, so an orderly end of the
        // connection could pass for the end of the body. If a stray body is possible, it may arrive at any later time
        // and contain a whole response written by an attacker (an upload, requested by HEAD), so no other request may
        // use the connection. It is reset, since an orderly end makes the connection's port unusable for a minute, and
        // clients can cause many.
        let breaksOff = !isTunnel && (!outbound.isAllSent || response.mayStrayBody)
        patience = .distantFuture
        receiver = nil
        outbound.drop()
        // The loop receives the next response into the same buffer, unless it is still referenced. With TLS, another
        // receive before the connection is returned would need another buffer.
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
        // A queued exchange may now take this connection.
        pool.ended(self)
    }
}
