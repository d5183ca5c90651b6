internal import HTTP2
internal import NIOCore

/// The minimum rates and deadlines of a stream, for its request and its response.
extension HTTP2Stream {
    // MARK: The request

    /// Stops measuring the request's rate.
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

    /// Called when the client has taken bytes of the response.
    func bodyWasSent(_ count: Int, at now: NIODeadline) { reader.took(count, at: now) }

    func deadlinePassed() {
        guard let connection else { return }
        let now = connections.now
        if reader.deadline <= now {
            connection.measureDownloads(at: now)
            guard !reader.isExcused(by: connection.downloads.rate, at: now) else { return }
            // A reset, so that the client does not take a part of the response for all of it.
            reset(.cancel)
        } else if let fault = pace.fault(beside: connection.uploads, at: now) {
            fail(fault)
        }
    }
}
