internal import HTTP1
internal import HTTP2
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

/// The path of a response from the service to the session.
extension HTTP2Stream {
    // MARK: In

    func write(_ part: ResponsePart) {
        guard !isOver, connection != nil else { return }
        switch part {
        case .head(let head):
            let isTunnel = head.status == .switchingProtocols
            beginHead(isTunnel: isTunnel) { list in
                isTunnel
                    ? HTTP2ResponseHead(switching: head, to: list)
                    : HTTP2ResponseHead(head, toHead: response.isToHead, to: list)
            }
        case .body(let body): writeBody(body)
        case .end(let trailers): writeEnd(trailers)
        }
    }

    var httpVersion: ClientProtocol.HTTPVersion { .http2 }

    var sendsLines: Bool { true }

    func writeHead(_ status: HTTPResponse.Status, _ lines: EndToEndLines, requestID: String, closes: Bool) {
        guard !isOver, connection != nil else { return }
        beginHead(isTunnel: false) { list in
            HTTP2ResponseHead(status, lines, requestID: requestID, toHead: response.isToHead, to: list)
        }
    }

    private func beginHead(isTunnel: Bool, _ write: (HTTP2FieldList) -> HTTP2ResponseHead) {
        let list = connections.takeFieldList()
        let head = write(list)
        // Body parts after the response's head are a bidirectional exchange, not an upload. Pauses up to the body's
        // idle timeout are allowed.
        stopMeasuring()
        response.begin(head, in: list, isTunnel: isTunnel)
    }

    private func writeBody(_ body: ByteBuffer) {
        guard response.hasBody, body.readableBytes > 0 else { return }
        guard response.mayAppend(body.readableBytes) else { return reset(.internalError) }
        sendHead()
        response.append(body)
        connection?.resumeBody(id)
        guard response.isTooMuch else { return }
        changeWritability(false)
        connection?.scheduleFlush()
    }

    func sendHead() {
        guard response.hasUnwrittenHead, let connection else { return }
        guard connection.takesHead(of: self) else {
            response.isHeld = true
            return
        }
        guard let (list, isWhole) = response.takeHead() else { return }
        connection.sendHead(id, list, isWhole: isWhole)
        connections.giveBack(list)
    }

    func releaseHead() {
        response.isHeld = false
        sendHead()
    }

    func flush() {
        sendHead()
        connection?.scheduleFlush()
    }

    func flushEnded() {
        sendHead()
        connection?.scheduleFlush(settling: self)
    }

    private func writeEnd(_ trailers: HTTPFields?) {
        // A body shorter than announced must not look complete.
        guard response.end(trailers) else { return reset(.internalError) }
        // RFC 9113 §8.1: the client need not send the rest of its request.
        if !clientHasEnded { pace.expectNothing() }
        sendHead()
        connection?.resumeBody(id)
    }

    /// See ``HTTP2SessionReceiver/nextBody(_:atMost:)``.
    func nextBody(atMost most: Int, _ session: HTTP2Session) -> HTTP2BodyStep? {
        guard let step = response.nextBody(atMost: most) else { return nil }
        guard step.next == .end else { return step }
        if let trailers = response.trailers {
            let list = connections.takeFieldList()
            list.write(trailers: trailers)
            session.sendTrailers(id, list)
            connections.giveBack(list)
        } else if let endError = response.endError {
            session.reset(id, endError)
        } else {
            return step
        }
        return HTTP2BodyStep(count: step.count, next: .other)
    }

    func takeBody(atMost most: Int) -> ByteBuffer { response.takeBody(atMost: most) }

    /// Called when the response's end was written. The client need not send the rest of its request (RFC 9113 §8.1).
    func endWasWritten(_ session: HTTP2Session) {
        if !clientHasEnded { session.reset(id, .noError) }
    }

    func dropOutput() {
        if let list = response.removeAll() { connections.giveBack(list) }
    }

    // MARK: The client's reading

    /// Returns whether a paused service may continue.
    func hasRoomAgain() -> Bool { response.hasRoomAgain && !isOver }

    func changeWritability(_ isWritable: Bool) {
        guard response.holdBack(!isWritable) else { return }
        reader.isBlocked = !isWritable
        // WebSockets have their own idle timeout.
        if !response.isTunnel { waitForReader() }
        exchanges?.writabilityChanged(isWritable)
    }

    func responseWaits() -> Bool {
        // A stream whose response has been sent completely is closed by now.
        guard response.hasEnded, !isOver, connection != nil else { return false }
        reader.finish()
        waitForReader()
        return true
    }
}
