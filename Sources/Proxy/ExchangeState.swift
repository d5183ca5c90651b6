/// The course of a request from its head to the end of its response, as a value. Each event changes it and returns what
/// must be done; ``Exchange`` does it.
///
/// Whatever the order of events, the response begins at most once, and exactly one event ends it. That one is recorded.
///
/// `Upstream` is a request at a backend, `Tunnel` a WebSocket, and `Call` a call that the gateway answers itself.
struct ExchangeState<Upstream, Tunnel, Call> {
    private enum Phase {
        /// Nothing is decided. A key may be looked for, and the body waits.
        case deciding(endIsHeld: Bool)
        /// The body of a call is being collected.
        case collecting(Call)
        /// A call is being carried out. The rest of its body is ignored.
        case performing(Call)
        case forwarding(Upstream)
        case tunnel(Tunnel)
        /// A response of the gateway's own must come now. The rest of the request is ignored.
        case refusing
        case ended
    }

    private var phase = Phase.deciding(endIsHeld: false)
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
    mutating func forward(to upstream: Upstream, bodyLimit: Int) {
        assert(isUndecided, "decided twice")
        phase = .forwarding(upstream)
        room = bodyLimit
    }

    /// The request asks a backend for a WebSocket.
    mutating func open(_ tunnel: Tunnel) {
        assert(isUndecided, "decided twice")
        phase = .tunnel(tunnel)
    }

    /// The backend has declined the WebSocket. Its response is passed on like any other.
    mutating func tunnelDeclined(by upstream: Upstream) {
        guard case .tunnel = phase, !responseHasBegun else { return }
        phase = .forwarding(upstream)
    }

    /// The request is a call that the gateway answers itself.
    ///
    /// - Returns: whether it must be carried out now, as there is no body to collect.
    mutating func collect(_ call: Call, limit: Int) -> Bool {
        assert(isUndecided, "decided twice")
        phase = bodyHasEnded ? .performing(call) : .collecting(call)
        room = limit
        return bodyHasEnded
    }

    /// The call that is being carried out; nil if nobody waits for its answer any more.
    var performedCall: Call? {
        if case .performing(let call) = phase { call } else { nil }
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

    /// A key was looked for.
    mutating func keysWereLookedUp() -> LookUp {
        guard case .deciding(let endIsHeld) = phase else { return .ignore }
        if endIsHeld {
            phase = .deciding(endIsHeld: false)
            bodyHasEnded = false
        }
        return .decide(endIsHeld: endIsHeld)
    }

    // MARK: The client

    /// A part of the body has come.
    mutating func receive(_ count: Int) -> BodyPart {
        switch phase {
        case .deciding:
            return .hold
        case .collecting(let call):
            room -= count
            guard room < 0 else { return .collect(call) }
            phase = .performing(call)
            return .callIsTooLong(call)
        case .forwarding(let upstream):
            room -= count
            guard room < 0 else { return .pass(upstream) }
            phase = responseHasBegun ? .ended : .refusing
            return responseHasBegun ? .breakOff(upstream) : .refuse(upstream)
        case .tunnel(let tunnel):
            return .passThrough(tunnel)
        case .performing, .refusing, .ended:
            return .ignore
        }
    }

    /// The body has ended. In a WebSocket, the client has ended its half.
    mutating func receiveEnd() -> BodyEnd {
        if case .tunnel(let tunnel) = phase { return .passThrough(tunnel) }
        guard !bodyHasEnded else { return .ignore }
        bodyHasEnded = true
        switch phase {
        case .deciding:
            phase = .deciding(endIsHeld: true)
            return .ignore
        case .collecting(let call):
            phase = .performing(call)
            return .perform(call)
        case .forwarding(let upstream):
            return .finish(upstream)
        case .performing, .tunnel, .refusing, .ended:
            return .ignore
        }
    }

    /// The other side, which pauses while the client does not keep up.
    var backend: Backend {
        switch phase {
        case .forwarding(let upstream): .upstream(upstream)
        case .tunnel(let tunnel): .tunnel(tunnel)
        case .deciding, .collecting, .performing, .refusing, .ended: .nobody
        }
    }

    /// The rest of the request did not come, or not as it must.
    ///
    /// - Returns: the side to cancel before the request is refused; nil if there is nothing to refuse. A response that has
    ///   begun ends with its connection.
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
