package import NIOCore

/// The path of a request to the backend.
extension UpstreamExchange {
    /// Forwards a part of the request's body.
    ///
    /// The parts of one turn are sent together, at the latest at its end: sending one byte costs as much as sending
    /// thousands.
    ///
    /// - Returns: whether more is wanted now; if not, ``UpstreamResponseReceiver/upstreamWantsBody()`` is called when
    ///   it is.
    package func send(body: ByteBuffer) -> Bool {
        guard !isDone, !outbound.isComplete else { return true }
        outbound.append(body)
        // The connection reports when it is established or writable again.
        guard !isHoldingBack else { return false }
        if isUp, !outbound.isMuch {
            gather()
            return true
        }
        flush()
        isHoldingBack = !outbound.isEmpty
        return !isHoldingBack
    }

    func gather() {
        guard !isGathering else { return }
        isGathering = true
        pool.sendLater(self)
    }

    /// Ends the request's body.
    package func finishBody() {
        guard !isDone, !outbound.isComplete else { return }
        outbound.end()
        if !isGathering { flush() }
        // From here on, the first byte of the response is awaited, even if nothing was left to send.
        if !isDone, isUp { setDeadline() }
    }

    func flush() {
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
                // Bytes that the backend sent before it closed may still be readable.
                receiveAll()
                // If the exchange is paused or yielding, the end is detected when receiving resumes. A retry may also
                // have begun.
                if !isDone, !isPaused, !isYielding, self.connection === connection { lost() }
                return
            }
        }
        // A reused connection may accept no bytes at first. The deadline must be set even then.
        if isTunnel, outbound.isAllSent { connection.shutDownOutput() }
        guard progressed || patience == .distantFuture && !isTunnel else { return }
        setDeadline()
    }

    package func sendAtEndOfTurn() {
        isGathering = false
        flush()
        isHoldingBack = isHoldingBack || !outbound.isEmpty && !outbound.isComplete
        // The client may have been paused while a connection was replaced.
        askForBody()
    }

    func connectionIsWritable() {
        flush()
        askForBody()
    }

    func askForBody() {
        guard isHoldingBack, outbound.isEmpty, !isDone else { return }
        isHoldingBack = false
        receiver?.upstreamWantsBody()
    }
}
