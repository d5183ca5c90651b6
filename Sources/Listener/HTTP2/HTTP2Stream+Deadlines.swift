internal import HTTP2
internal import NIOCore

/// How fast a stream's client sends its body and takes its response, and what happens when its time is over.
extension HTTP2Stream {
    // MARK: The request

    /// The rate is of no interest any more.
    func stopMeasuring() {
        guard pace.isMeasuring, let connection else { return }
        pace.stopMeasuring(&connection.uploads, at: connections.now)
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
        } else if let fault = pace.fault(beside: connection.uploads, at: now) {
            fail(fault)
        }
    }
}
