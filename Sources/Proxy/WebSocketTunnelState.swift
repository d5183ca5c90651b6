internal import Pipeline

/// The course of a WebSocket as a value, from the upgrade request to the last byte in either direction. Each event
/// changes it and returns what must be done; ``WebSocketTunnel`` does it.
///
/// Of the bytes it looks only at where frames begin, so that a Close frame of the gateway's own can be put between two.
struct WebSocketTunnelState: Equatable {
    private enum Phase: Equatable {
        /// The backend has not answered. The client's bytes wait.
        case asking
        /// The backend declined. The exchange passes on its response.
        case declined
        case open
        /// The client has ended its half. The backend may go on for a little.
        case clientEnded
        /// The client gets a Close frame as soon as the frame that is on its way to it has ended.
        case closing(WebSocketClose)
        /// The client's side has ended. The backend gets the time to end as well.
        case leaving
        case done
    }

    private var phase = Phase.asking
    /// Whether the client has ended its half.
    private(set) var hasClientEnded = false
    private var fromBackend = WebSocketFrameTracker(isMasked: false)
    private var fromClient = WebSocketFrameTracker(isMasked: true)
    /// Whether an end that comes before the backend has answered is only that of the request.
    private let requestEnds: Bool

    /// - Parameter requestEnds: true over HTTP/1.1, where the upgrade request has an end of its own.
    init(requestEnds: Bool) {
        self.requestEnds = requestEnds
    }

    // MARK: The backend

    /// The backend has answered the request.
    ///
    /// - Parameter opens: whether it opens the WebSocket.
    /// - Returns: whether anybody waits for it.
    mutating func backendAnswered(opens: Bool) -> Bool {
        guard case .asking = phase else { return false }
        phase = opens ? .open : .declined
        return true
    }

    /// Whether bytes go both ways.
    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    enum BackendPart: Equatable {
        case ignore
        /// Pass it on as a part of the response that declines the WebSocket.
        case respond
        case pass
        /// Pass on so many bytes, then the Close frame, and leave.
        case close(after: Int, WebSocketClose)
        /// Pass it on and leave without a Close frame, for which there is no place: the backend has sent its own, or
        /// what it sends are no frames.
        case passAndLeave(WebSocketClose)
    }

    /// Bytes have come from the backend.
    mutating func backendSent(_ bytes: borrowing Span<UInt8>) -> BackendPart {
        switch phase {
        case .open, .clientEnded:
            fromBackend.advance(over: bytes)
            return .pass
        case .closing(let close):
            if let end = fromBackend.advance(toBoundaryIn: bytes) { return .close(after: end, close) }
            return fromBackend.isTracking ? .pass : .passAndLeave(close)
        case .declined:
            return .respond
        case .asking, .leaving, .done:
            return .ignore
        }
    }

    enum BackendEnd: Equatable {
        case ignore
        /// The response that was awaited, or declines the WebSocket, has ended.
        case response
        /// The WebSocket has ended; the gateway was about to close it for this reason, if any.
        case webSocket(WebSocketClose?)
    }

    /// The backend has ended, in order or not.
    mutating func backendEnded() -> BackendEnd {
        defer { phase = .done }
        switch phase {
        case .asking, .declined: return .response
        case .open, .clientEnded: return .webSocket(nil)
        case .closing(let close): return .webSocket(close)
        case .leaving, .done: return .ignore
        }
    }

    // MARK: The client

    enum ClientPart: Equatable {
        case ignore
        /// Hold it until the WebSocket is open, and receive it again then. No more is wanted until then.
        case hold
        case pass
    }

    /// Bytes have come from the client.
    mutating func clientSent(_ bytes: borrowing Span<UInt8>) -> ClientPart {
        switch phase {
        case .asking:
            return .hold
        case .open:
            fromClient.advance(over: bytes)
            return .pass
        case .declined, .clientEnded, .closing, .leaving, .done:
            return .ignore
        }
    }

    /// The client has ended its half, now or before the WebSocket was open.
    ///
    /// - Returns: whether the backend's input must end, and the backend after it.
    mutating func clientEnded() -> Bool {
        if case .asking = phase, requestEnds { return false }
        hasClientEnded = true
        guard isOpen else { return false }
        phase = .clientEnded
        return true
    }

    // MARK: The gateway

    /// The gateway closes the WebSocket.
    ///
    /// - Returns: whether it is to be closed: then, if ``closesBackend``, the backend gets a Close frame, and
    ///   ``closingStep`` follows.
    mutating func close(with close: WebSocketClose) -> Bool {
        switch phase {
        case .open, .clientEnded:
            phase = .closing(close)
            return true
        case .asking, .declined, .closing, .leaving, .done:
            return false
        }
    }

    /// Whether the backend can get a Close frame: the client has not stopped within a frame of its own.
    var closesBackend: Bool { fromClient.isAtBoundary && !hasClientEnded }

    enum ClosingStep: Equatable {
        case ignore
        /// Send the client the Close frame now, and leave.
        case close(WebSocketClose)
        /// A frame is on its way to the client: wait for its end.
        case wait
        /// There is no place for a Close frame any more: leave without.
        case leave(WebSocketClose)
    }

    /// The step towards the client, once the backend has been told. Being told, it may have ended the WebSocket.
    var closingStep: ClosingStep {
        guard case .closing(let close) = phase else { return .ignore }
        if fromBackend.isAtBoundary { return .close(close) }
        return fromBackend.isTracking ? .wait : .leave(close)
    }

    enum Alarm: Equatable {
        case ignore
        /// It was early: set it again.
        case sleep
        case close(WebSocketClose)
        /// The client ended its half long ago: leave, and cancel the backend's part.
        case leaveAndCancel
        /// The frame did not end: leave, and break the client's connection off.
        case breakOff(WebSocketClose)
        /// The backend has not ended: cancel its part.
        case cancel
    }

    /// The alarm has rung.
    ///
    /// - Parameters:
    ///   - isExpired: whether the token has expired that opened the WebSocket.
    ///   - isIdle: whether neither side has said anything for as long as it may.
    func alarmRang(isExpired: Bool, isIdle: Bool) -> Alarm {
        switch phase {
        case .open: isExpired ? .close(.tokenExpired) : isIdle ? .close(.idle) : .sleep
        case .clientEnded: .leaveAndCancel
        case .closing(let close): .breakOff(close)
        case .leaving: .cancel
        case .asking, .declined, .done: .ignore
        }
    }

    /// The gateway ends the client's side.
    ///
    /// - Returns: whether it had not ended.
    mutating func leave() -> Bool {
        switch phase {
        case .open, .clientEnded, .closing:
            phase = .leaving
            return true
        case .asking, .declined, .leaving, .done:
            return false
        }
    }

    /// The client has gone, or nothing is left to wait for.
    mutating func end() { phase = .done }
}
