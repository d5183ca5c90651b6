/// The state machine of a request, from its head to the end of its response, as a value. Each event changes the state
/// and returns the action to execute; ``Exchange`` executes it.
///
/// In any order of events, the response begins at most once, and exactly one event ends and records the request.
struct ExchangeState {
    private enum Phase {
        /// The decision is pending, perhaps while a key or a user's attributes are looked up. The body waits.
        case deciding(endIsBuffered: Bool)
        /// The body of a call is being collected.
        case collecting
        /// A call is being carried out. The rest of its body is ignored.
        case performing
        case forwarding
        case tunnel
        /// The gateway must now send a response of its own. The rest of the request is ignored.
        case refusing
        case ended
    }

    private var phase = Phase.deciding(endIsBuffered: false)
    /// Whether the head of a backend's response has been sent. The gateway's own responses are sent as a whole.
    private(set) var responseHasBegun = false
    private var bodyHasEnded: Bool
    /// The number of body bytes that may still arrive.
    private var room = Int.max
    private var wasTurnedAway = false

    init(hasBody: Bool) {
        bodyHasEnded = !hasBody
    }

    // MARK: Decisions

    /// Notes that the request exceeds a limit and will be refused.
    mutating func turnAway() { wasTurnedAway = true }

    /// Whether the response counts as in flight while it waits for the client.
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

    /// Begins a response of the gateway's own.
    ///
    /// - Returns: true if the response must be sent and recorded; false if the client has disconnected or another
    ///   response was sent.
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
        // A sign-in may be forwarded after the gateway has processed it.
        case .deciding, .performing: true
        case .collecting, .forwarding, .tunnel, .refusing, .ended: false
        }
    }

    /// Processes the end of a lookup of keys or user attributes.
    mutating func lookedUp() -> LookUp {
        guard case .deciding(let endIsBuffered) = phase else { return .ignore }
        if endIsBuffered {
            phase = .deciding(endIsBuffered: false)
            bodyHasEnded = false
        }
        return .decide(endIsBuffered: endIsBuffered)
    }

    // MARK: The client

    /// Processes a part of the body.
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

    /// Processes the end of the body. In a WebSocket, the client has closed its half.
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

    /// The other side of the request. It is paused while the client's connection is congested.
    var backend: Backend {
        switch phase {
        case .forwarding: .upstream
        case .tunnel: .tunnel
        case .deciding, .collecting, .performing, .refusing, .ended: .nobody
        }
    }

    /// Processes a request whose rest is invalid or did not arrive in time.
    ///
    /// - Returns: the side to cancel before the request is refused; nil if nothing can be refused. A response that has
    ///   begun ends with its connection.
    mutating func requestFailed() -> Backend? {
        if case .ended = phase { return nil }
        guard !responseHasBegun else { return nil }
        let backend = backend
        phase = .refusing
        return backend
    }

    /// Processes the end of the client's connection.
    ///
    /// - Returns: the side to cancel before the request is recorded; nil if the request had ended before.
    mutating func clientDisconnected() -> Backend? {
        if case .ended = phase { return nil }
        let backend = backend
        phase = .ended
        return backend
    }

    // MARK: The backend

    /// Processes the head of the backend's response, or the opening of the WebSocket.
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

    /// Processes the end of the backend's response.
    ///
    /// - Returns: whether it must be recorded and ended.
    mutating func upstreamFinished() -> Bool {
        guard case .forwarding = phase, responseHasBegun else { return false }
        phase = .ended
        return true
    }

    /// Processes the failure of the backend, before or during its response.
    mutating func upstreamFailed() -> Failure {
        switch phase {
        case .forwarding, .tunnel:
            phase = responseHasBegun ? .ended : .refusing
            return responseHasBegun ? .breakOff : .refuse
        case .deciding, .collecting, .performing, .refusing, .ended:
            return .ignore
        }
    }

    /// Processes the end of the WebSocket.
    ///
    /// - Returns: whether it must be recorded and ended.
    mutating func tunnelEnded() -> Bool {
        guard case .tunnel = phase, responseHasBegun else { return false }
        phase = .ended
        return true
    }
}
