internal import HTTP2
internal import NIOCore

/// How fast a stream's client sends its body and takes its response, and what happens when its time is over.
extension HTTP2Stream {
    // MARK: The request

    /// Part of the body has come. Of streams that got something in the same read, each is awaited again before the next
    /// one's part counts.
    func measureArrived() {
        defer { arrivedBytes = 0 }
        guard settings.leastRate > 0, arrivedBytes > 0 else { return }
        let now = connections.now
        excuses.forget()
        connection?.uploads.moved(arrivedBytes, at: now)
        rate.received(arrivedBytes, at: now)
        stopWaiting(at: now)
    }

    private func stopWaiting(at now: NIODeadline) {
        if isAwaited { connection?.uploads.stopWaiting(at: now) }
        isAwaited = false
    }

    /// The rate is of no interest any more.
    func stopMeasuring() {
        guard rate.isMeasuring else { return }
        measureArrived()
        rate.end()
        stopWaiting(at: connections.now)
        connection?.uploads.leave()
    }

    // MARK: The response

    func waitForReader() {
        let now = connections.now
        switch reader.update(at: now) {
        case .begins: connection?.beginWaiting(at: now)
        case .ends: connection?.endWaiting(at: now)
        case nil: break
        }
    }

    /// The client took something.
    func bodyWasSent(_ count: Int, at now: NIODeadline) { reader.took(count, at: now) }

    func deadlinePassed() {
        guard let connection else { return }
        let now = connections.now
        if reader.deadline <= now {
            connection.measureDownloads(at: now)
            guard !reader.isExcused(by: connection.downloads.rate, at: now) else { return }
            // A reset, so that the client does not mistake its part for the whole response.
            reset(.cancel)
        } else if rate.deadline <= now {
            guard connection.uploads.isMet(at: now) else { return fail(.requestTooSlow) }
            rate.wait(until: connection.uploads.deadline)
        } else if !isReading || excuses.excuse(connection.uploads, since: now - settings.bodyIdleTimeout, at: now) {
            // It is the service that is slow, and the client's time begins when it is read from again; or the client's
            // line is busy with other streams.
            deadline = now + settings.bodyIdleTimeout
        } else {
            fail(.requestTimeout)
        }
    }
}
