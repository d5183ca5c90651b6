package import NIOCore

/// The request's way to the backend.
extension UpstreamExchange {
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

    func gather() {
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

    package func depart() {
        isGathering = false
        flush()
        isHoldingBack = isHoldingBack || !outbound.isEmpty && !outbound.isComplete
        // The client may have been held back while a connection was replaced.
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
