internal import Curl
internal import HTTP1
internal import HTTPTypes
internal import NIOCore

/// The path of a response from the backend.
extension UpstreamExchange {
    /// Stops receiving the response until ``resume()``, because the client is slow.
    package func pause() { isPaused = true }

    package func resume() {
        guard isPaused else { return }
        isPaused = false
        guard !isDone, isUp else { return }
        // The client's delay does not count against the backend.
        setDeadline()
        connectionIsReadable()
    }

    func connectionIsReadable() {
        if !hasSent, isUp, let connection, connection.isReused {
            if !connection.isSilent() { takeAnotherConnection() }
            return
        }
        receiveAll()
    }

    /// Continues receiving in the exchange's next turn.
    func continueReceiving() {
        isYielding = false
        receiveAll()
    }

    func receiveAll() {
        guard !isReceiving, !isYielding else { return }
        isReceiving = true
        defer { isReceiving = false }
        var receives = 0
        while !isDone, let connection, isUp {
            guard receives < receivesInTurn else {
                receiver?.upstreamReadComplete()
                if !isDone, !isYielding {
                    isYielding = true
                    pool.continueLater(self)
                }
                return
            }
            if isPaused {
                // Bytes that wait for a slow client must at least be flushed; that alone may make room.
                receiver?.upstreamReadComplete()
                guard !isPaused else { return }
                continue
            }
            switch connection.receive() {
            case .nothingYet:
                if !response.awaitsHead { receiver?.upstreamReadComplete() }
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
        // Interim responses and partial heads do not extend the deadline.
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
            // Bytes after the response belong to no request; their sender is not trusted further.
            if response.hasRest { server?.sawUnsolicitedBytes() }
            complete(
                reuse: response.keepAlive && outbound.isAllSent && !response.hasRest
                    && !response.mayStrayBody)
        }
    }

    private func complete(reuse: Bool) {
        let receiver = receiver
        finish(reuse: reuse)
        receiver?.upstreamFinished(trailers: request.takesTrailers ? response.trailers : nil)
    }
}
