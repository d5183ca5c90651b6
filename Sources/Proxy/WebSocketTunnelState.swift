internal import Pipeline

/// The state machine of a WebSocket as a value, from the upgrade request to the last byte in either direction. Each
/// event changes the state and returns the action to execute; ``WebSocketTunnel`` executes it.
///
/// It inspects only the frame boundaries, so that the gateway can insert its own Close frame between two frames.
struct WebSocketTunnelState: Equatable {
    private enum Phase: Equatable {
        /// The backend has not responded yet. The client's bytes are buffered.
        case asking
        /// The backend has declined. The exchange forwards its response.
        case declined
        case open
        /// The client has ended its half. The backend may still send for a short time.
        case clientEnded
        /// The client receives a Close frame as soon as the frame in transit to it has ended.
        case closing(WebSocketClose)
        /// The client's side has ended. The backend is given time to end as well.
        case leaving
        case done
    }

    private var phase = Phase.asking
    /// Whether the client has ended its half.
    private(set) var hasClientEnded = false
    private var fromBackend = WebSocketFrameTracker(isMasked: false)
    private var fromClient = WebSocketFrameTracker(isMasked: true)
    /// Whether an end of the client's data before the backend's response is only the end of the upgrade request.
    private let requestEnds: Bool

    /// - Parameter requestEnds: true over HTTP/1.1, where the upgrade request has an end of its own.
    init(requestEnds: Bool) {
        self.requestEnds = requestEnds
    }

    // MARK: The backend

    /// Processes the backend's response to the upgrade request.
    ///
    /// - Parameter opens: whether it opens the WebSocket.
    /// - Returns: whether the response is still expected.
    mutating func backendAnswered(opens: Bool) -> Bool {
        guard case .asking = phase else { return false }
        phase = opens ? .open : .declined
        return true
    }

    /// Whether bytes are forwarded in both directions.
    var isOpen: Bool {
        if case .open = phase { true } else { false }
    }

    enum BackendPart: Equatable {
        case ignore
        /// Forward it as a part of the response that declines the WebSocket.
        case respond
        case pass
        /// Forward this number of bytes, then send the Close frame, and leave.
        case close(after: Int, WebSocketClose)
        /// Forward it and leave without a Close frame, which has no valid position: the backend has sent its own, or
        /// its data is not made of frames.
        case passAndLeave(WebSocketClose)
    }

    /// Processes bytes from the backend.
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
        /// The expected response, or the one that declines the WebSocket, has ended.
        case response
        /// The WebSocket has ended. The value is the reason for which the gateway was closing it; nil if it was not.
        case webSocket(WebSocketClose?)
    }

    /// Processes the end of the backend's data, regular or by an error.
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
        /// Buffer it until the WebSocket is open, then process it again. Reading pauses until then.
        case hold
        case pass
    }

    /// Processes bytes from the client.
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

    /// Processes the end of the client's half, which may come before the WebSocket is open.
    ///
    /// - Returns: whether the backend's input must be ended and the backend's end awaited.
    mutating func clientEnded() -> Bool {
        if case .asking = phase, requestEnds { return false }
        hasClientEnded = true
        guard isOpen else { return false }
        phase = .clientEnded
        return true
    }

    // MARK: The gateway

    /// Begins to close the WebSocket from the gateway's side.
    ///
    /// - Returns: whether closing begins. If so, the backend is sent a Close frame if ``closesBackend`` is true, and
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

    /// Whether the backend can be sent a Close frame: the client's data must end at a frame boundary.
    var closesBackend: Bool { fromClient.isAtBoundary && !hasClientEnded }

    enum ClosingStep: Equatable {
        case ignore
        /// Send the client the Close frame now, and leave.
        case close(WebSocketClose)
        /// A frame is in transit to the client: wait for its end.
        case wait
        /// No Close frame can be sent any more: leave without one.
        case leave(WebSocketClose)
    }

    /// The next step towards the client, after the Close frame to the backend. Sending that may already have ended the
    /// WebSocket.
    var closingStep: ClosingStep {
        guard case .closing(let close) = phase else { return .ignore }
        if fromBackend.isAtBoundary { return .close(close) }
        return fromBackend.isTracking ? .wait : .leave(close)
    }

    enum Alarm: Equatable {
        case ignore
        /// No limit is reached yet: set the alarm again.
        case sleep
        case close(WebSocketClose)
        /// The backend did not end in time after the client had ended its half: leave, and cancel the exchange with the
        /// backend.
        case leaveAndCancel
        /// The frame did not end in time: leave, and abort the client's connection.
        case breakOff(WebSocketClose)
        /// The backend did not end in time: cancel the exchange with it.
        case cancel
    }

    /// Processes the alarm.
    ///
    /// - Parameters:
    ///   - isExpired: whether the token that opened the WebSocket has expired.
    ///   - isIdle: whether neither side has sent anything within the idle timeout.
    func alarmRang(isExpired: Bool, isIdle: Bool) -> Alarm {
        switch phase {
        case .open: isExpired ? .close(.tokenExpired) : isIdle ? .close(.idle) : .sleep
        case .clientEnded: .leaveAndCancel
        case .closing(let close): .breakOff(close)
        case .leaving: .cancel
        case .asking, .declined, .done: .ignore
        }
    }

    /// Ends the client's side.
    ///
    /// - Returns: whether the client's side was still open.
    mutating func leave() -> Bool {
        switch phase {
        case .open, .clientEnded, .closing:
            phase = .leaving
            return true
        case .asking, .declined, .leaving, .done:
            return false
        }
    }

    /// Processes the final end: the client has disconnected, or there is nothing to wait for.
    mutating func end() { phase = .done }
}
