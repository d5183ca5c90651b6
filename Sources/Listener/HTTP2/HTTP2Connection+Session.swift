internal import HTTP1
internal import HTTP2
internal import NIOCore

/// The callbacks of the session. None of them may call back into its reading or writing, so the connection is not ended
/// before they have returned.
extension HTTP2Connection: HTTP2SessionReceiver {
    // MARK: In

    func headBegins(_ id: Int32, areTrailers: Bool) {
        if !areTrailers { open(id) }
        reading.begin(areTrailers: areTrailers)
    }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) -> Bool {
        unsafe reading.take(name, value)
    }

    func headEnds(_ id: Int32, endStream: Bool) {
        guard let head = reading.end(), let stream = streams.find(id) else { return }
        touch(stream)
        do throws(HTTP1Fault) {
            guard !reading.areTrailers else {
                try head.finishTrailers()
                return stream.trailersCame(nil, endStream: endStream)
            }
            stream.begin(try head.finish(), endStream: endStream)
        } catch {
            if reading.areTrailers {
                stream.trailersCame(error, endStream: endStream)
            } else {
                stream.refuse(error, endStream: endStream)
            }
        }
    }

    func body(_ id: Int32, _ part: ByteBuffer) {
        guard let stream = streams.find(id) else { return }
        touch(stream)
        stream.receive(part)
    }

    func dataEnds(_ id: Int32, isEmpty: Bool, endStream: Bool) {
        guard let stream = streams.find(id) else { return }
        touch(stream)
        if endStream {
            stream.receiveEnd()
        } else if !budget.dataHasEnded(isEmpty: isEmpty) {
            failLater(.enhanceYourCalm)
        }
    }

    func wasReset(_ id: Int32, code: UInt32) {
        streams[id]?.wasReset()
    }

    func streamCloses(_ id: Int32) {
        guard let stream = streams[id] else { return }
        // GOAWAY closes streams as well. The client learns of that as late as of a reset.
        if stream.isOver || !stream.clientHasEnded { expectLate(id) } else { streams.wasClosed(id, .ended) }
        forget(stream)
    }

    /// Allows for late frames: those that the client sends before it learns that the stream is closed are not its
    /// error.
    private func expectLate(_ id: Int32) {
        streams.wasClosed(id, .reset)
        budget.streamWasReset(window: HTTP2SessionLimits.streamWindow)
    }

    // MARK: Out

    func nextBody(_ id: Int32, atMost most: Int) -> HTTP2BodyStep? {
        guard let session else { return nil }
        return streams.find(id)?.nextBody(atMost: most, session)
    }

    func takeBody(_ id: Int32, atMost most: Int) -> ByteBuffer {
        streams.find(id)?.takeBody(atMost: most) ?? ByteBuffer()
    }

    func dataWasWritten(_ id: Int32, _ count: Int) {
        budget.dataFrameWasSent()
        guard let stream = streams.find(id) else { return }
        if downloads.areAwaited { stream.bodyWasSent(count, at: connections.now) }
        if stream.hasRoomAgain() { due.drained.append(stream) }
    }

    func endWasWritten(_ id: Int32) {
        if let session { streams.find(id)?.endWasWritten(session) }
    }

    func resetWasWritten(_ id: Int32, code: UInt32) {
        if let stream = streams[id] {
            stream.resetWasWritten()
        } else {
            // The stream was refused before it was opened.
            expectLate(id)
        }
        switch HTTP2Error(rawValue: code) {
        case .noError, .cancel, .internalError, .streamClosed: break
        // CVE-2025-8671. A malformed request also counts as an error of the client's.
        default: if !budget.resetWasProvoked(at: connections.now) { failLater(.enhanceYourCalm) }
        }
    }

    func goAwayWasWritten(code: UInt32) {
        if code != 0 { errorCode = code }
    }
}
