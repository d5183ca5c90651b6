/// The course of a request from its head to the end of its response, as a value. Each event changes it and returns what
/// must be done; ``Exchange`` does it.
///
/// Whatever the order of events, the response begins at most once, and exactly one event ends it. That one is recorded.
struct ExchangeState {
    private enum Phase {
        /// Nothing is decided. A key or a user's attributes may be looked for, and the body waits.
        case deciding(endIsBuffered: Bool)
        /// The body of a call is being collected.
        case collecting
        /// A call is being carried out. The rest of its body is ignored.
        case performing
        case forwarding
        case tunnel
        /// A response of the gateway's own must come now. The rest of the request is ignored.
        case refusing
        case ended
    }

    private var phase = Phase.deciding(endIsBuffered: false)
    /// Whether the head of a backend's response has been sent. The gateway's own responses are sent as a whole.
    private(set) var responseHasBegun = false
    private var bodyHasEnded: Bool
    /// How many bytes of body may still come.
    private var room = Int.max
    private var wasTurnedAway = false

    init(hasBody: Bool) {
        bodyHasEnded = !hasBody
    }

    // MARK: Decisions

    /// There is no room for the request. It will be refused.
    mutating func turnAway() { wasTurnedAway = true }

    /// Whether its response takes a place while it waits for the client.
    var responseTakesPlace: Bool { !wasTurnedAway }

    /// The request goes to a backend.
    mutating func forward(bodyLimit: Int) {
        assert(isUndecided, "decided twice")
        phase = .forwarding
        room = bodyLimit
    }

    /// The request asks a backend for a WebSocket.
    mutating func openTunnel() {
        assert(isUndecided, "decided twice")
        phase = .tunnel
    }

    /// The backend has declined the WebSocket. Its response is passed on like any other.
    mutating func tunnelDeclined() {
        guard case .tunnel = phase, !responseHasBegun else { return }
        phase = .forwarding
    }

    /// The request is a call that the gateway answers itself.
    ///
    /// - Returns: whether it must be carried out now, as there is no body to collect.
    mutating func collect(limit: Int) -> Bool {
        assert(isUndecided, "decided twice")
        phase = bodyHasEnded ? .performing : .collecting
        room = limit
        return bodyHasEnded
    }

    /// Whether a call is being carried out, and its answer is awaited.
    var isPerforming: Bool {
        if case .performing = phase { true } else { false }
    }

    /// There is a response of the gateway's own.
    ///
    /// - Returns: whether it must be sent and recorded. False if the client has gone or another response was sent.
    mutating func answer() -> Bool {
        switch phase {
        case .deciding, .performing, .refusing:
            phase = .ended
            return true
        case .collecting, .forwarding, .tunnel, .ended:
            return false
        }
    }

    private var isUndecided: Bool {
        switch phase {
        // A sign-in may be forwarded after it was carried out.
        case .deciding, .performing: true
        case .collecting, .forwarding, .tunnel, .refusing, .ended: false
        }
    }

    /// A key was looked for, or the attributes of a user.
    mutating func lookedUp() -> LookUp {
        guard case .deciding(let endIsBuffered) = phase else { return .ignore }
        if endIsBuffered {
            phase = .deciding(endIsBuffered: false)
            bodyHasEnded = false
        }
        return .decide(endIsBuffered: endIsBuffered)
    }

    // MARK: The client

    /// A part of the body has come.
    mutating func receive(_ count: Int) -> BodyPart {
        switch phase {
        case .deciding:
            return .hold
        case .collecting:
            room -= count
            guard room < 0 else { return .collect }
            phase = .performing
            return .callIsTooLong
        case .forwarding:
            room -= count
            guard room < 0 else { return .pass }
            phase = responseHasBegun ? .ended : .refusing
            return responseHasBegun ? .breakOff : .refuse
        case .tunnel:
            return .passThrough
        case .performing, .refusing, .ended:
            return .ignore
        }
    }

    /// The body has ended. In a WebSocket, the client has ended its half.
    mutating func receiveEnd() -> BodyEnd {
        if case .tunnel = phase { return .passThrough }
        guard !bodyHasEnded else { return .ignore }
        bodyHasEnded = true
        switch phase {
        case .deciding:
            phase = .deciding(endIsBuffered: true)
            return .ignore
        case .collecting:
            phase = .performing
            return .perform
        case .forwarding:
            return .finish
        case .performing, .tunnel, .refusing, .ended:
            return .ignore
        }
    }

    /// The other side, which pauses while the client does not keep up.
    var backend: Backend {
        switch phase {
        case .forwarding: .upstream
        case .tunnel: .tunnel
        case .deciding, .collecting, .performing, .refusing, .ended: .nobody
        }
    }

    /// The rest of the request did not come, or not as it must.
    ///
    /// - Returns: the side to cancel before the request is refused; nil if there is nothing to refuse. A response that
    ///   has begun ends with its connection.
    mutating func requestFailed() -> Backend? {
        if case .ended = phase { return nil }
        guard !responseHasBegun else { return nil }
        let backend = backend
        phase = .refusing
        return backend
    }

    /// The client has gone.
    ///
    /// - Returns: the side to cancel before the end is recorded; nil if the end had come already.
    mutating func clientDisconnected() -> Backend? {
        if case .ended = phase { return nil }
        let backend = backend
        phase = .ended
        return backend
    }

    // MARK: The backend

    /// The backend has sent the head of its response, or opened the WebSocket.
    ///
    /// - Returns: whether the head must be sent.
    mutating func upstreamResponded() -> Bool {
        switch phase {
        case .forwarding, .tunnel:
            guard !responseHasBegun else { return false }
            responseHasBegun = true
            return true
        case .deciding, .collecting, .performing, .refusing, .ended:
            return false
        }
    }

    /// The backend's response is complete.
    ///
    /// - Returns: whether it must be recorded and ended.
    mutating func upstreamFinished() -> Bool {
        guard case .forwarding = phase, responseHasBegun else { return false }
        phase = .ended
        return true
    }

    /// There will be no response, or no more of it.
    mutating func upstreamFailed() -> Failure {
        switch phase {
        case .forwarding, .tunnel:
            phase = responseHasBegun ? .ended : .refusing
            return responseHasBegun ? .breakOff : .refuse
        case .deciding, .collecting, .performing, .refusing, .ended:
            return .ignore
        }
    }

    /// The WebSocket has ended.
    ///
    /// - Returns: whether it must be recorded and ended.
    mutating func tunnelEnded() -> Bool {
        guard case .tunnel = phase, responseHasBegun else { return false }
        phase = .ended
        return true
    }
}
