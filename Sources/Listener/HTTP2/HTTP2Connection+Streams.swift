internal import HTTP2
internal import NIOCore

/// The methods that streams call on their connection.
extension HTTP2Connection {
    // MARK: Frames

    func consumed(_ count: Int, of stream: Int32) {
        session?.consumed(count, of: stream)
        scheduleFlush()
    }

    func sendContinue(_ stream: Int32) {
        let list = connections.takeFieldList()
        list.writeContinue()
        session?.sendInterim(stream, list)
        connections.giveBack(list)
        scheduleFlush()
    }

    func sendHead(_ stream: Int32, _ list: HTTP2FieldList, isWhole: Bool) {
        if isWhole { session?.sendWhole(stream, list) } else { session?.send(stream, list) }
    }

    /// Returns whether a response may begin. If not, ``HTTP2Stream/releaseHead()`` is called when it may.
    ///
    /// Sending the head of a response without a body would end its stream. Holding it back makes a client that reads
    /// nothing reach its limit of concurrent streams.
    func takesHead(of stream: HTTP2Stream) -> Bool {
        guard !isWritable else { return true }
        if !stream.response.isHeld { due.held.append(stream) }
        return false
    }

    func resumeBody(_ stream: Int32) { session?.resume(stream) }

    /// Resets a stream after the data already written to it has been sent.
    func reset(_ stream: HTTP2Stream, _ error: HTTP2Error) {
        due.resets.append((stream, error))
        scheduleFlush()
    }

    /// - Parameter stream: a stream whose response has ended.
    func scheduleFlush(settling stream: HTTP2Stream) {
        due.settling.append(stream)
        scheduleFlush()
    }

    // MARK: The client's reading

    /// Called when a stream begins to wait for its client to take its response.
    func beginWaiting(at now: NIODeadline) {
        if downloads.beginWaiting(at: now) { downloads.count(from: acknowledgedBytes ?? 0) }
    }

    /// Measures the bytes that the client has acknowledged on all streams.
    func measureDownloads(at now: NIODeadline) {
        if let acknowledgedBytes { downloads.measure(acknowledgedBytes, at: now) }
    }

    private var acknowledgedBytes: UInt64? { context.flatMap { AcknowledgedBytes.of($0.channel) } }

    func endWaiting(at now: NIODeadline) { downloads.endWaiting(at: now) }
}
