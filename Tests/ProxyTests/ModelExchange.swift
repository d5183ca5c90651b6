@testable import Proxy

/// An exchange without a connection: it does what ``Exchange`` does for each action of its state, with parts of one
/// byte that are numbered as the client sends them, and writes down each deed.
struct ModelExchange {
    enum Event: Hashable, CaseIterable {
        // Decisions of the gate, as the request begins or after keys were looked up.
        case forward, open, callEndpoint, callDirect, lookUpKeys, refuse
        // The client.
        case part, end, requestFailed, disconnect
        // The gateway.
        case keysWereLookedUp, callAnswered, callForwarded
        // The backend, or the WebSocket at it.
        case responded, finished, failed, declined, tunnelEnded

        var isDecision: Bool {
            [.forward, .open, .callEndpoint, .callDirect, .lookUpKeys, .refuse].contains(self)
        }
    }

    enum Deed: Hashable {
        case hold(Int)
        /// Parts of the body that go on.
        case collect([Int]), pass([Int]), passThrough([Int])
        case perform
        case finishBody, endTunnelInput
        case cancelUpstream, cancelTunnel
        /// A head of the backend's is sent.
        case begin
        case record
        /// The three ends of a response: one of the gateway's own, the backend's, and none that is complete.
        case answer(Int), endResponse, breakOff
    }

    enum Call { case endpoint, direct }

    let hasBody: Bool
    let bodyLimit: Int
    private(set) var state: ExchangeState
    private var call: Call?
    private(set) var deeds: [Deed] = []
    private(set) var sent = 0
    private var held: [Int] = []

    init(hasBody: Bool = true, bodyLimit: Int = .max) {
        self.hasBody = hasBody
        self.bodyLimit = bodyLimit
        state = ExchangeState(hasBody: hasBody)
    }

    mutating func take(_ events: [Event]) {
        for event in events { take(event) }
    }

    mutating func take(_ event: Event) {
        switch event {
        case .forward: state.forward(bodyLimit: bodyLimit)
        case .open: state.openTunnel()
        case .callEndpoint: collect(.endpoint)
        case .callDirect: collect(.direct)
        case .lookUpKeys: break
        case .refuse: answer(403)
        case .part:
            sent += 1
            receive([sent - 1])
        case .end: receiveEnd()
        case .requestFailed:
            guard let backend = state.requestFailed() else { return }
            cancel(backend)
            answer(400)
        case .disconnect:
            guard let backend = state.clientDisconnected() else { return }
            cancel(backend)
            deeds.append(.record)
        case .keysWereLookedUp, .callForwarded:
            preconditionFailure("is followed by a decision")
        case .callAnswered:
            if state.isPerforming { answer(200) }
        case .responded:
            if state.upstreamResponded() { deeds.append(.begin) }
        case .finished:
            if state.upstreamFinished() { deeds += [.record, .endResponse] }
        case .failed:
            switch state.upstreamFailed() {
            case .ignore: break
            case .refuse: answer(502)
            case .breakOff: deeds += [.record, .breakOff]
            }
        case .declined:
            state.tunnelDeclined()
            take(.responded)
        case .tunnelEnded:
            if state.tunnelEnded() { deeds += [.record, .endResponse] }
        }
    }

    /// Keys were looked up, and with them the request is decided.
    mutating func lookedUp(then decision: Event) {
        guard case .decide(let endIsBuffered) = state.lookedUp() else { return }
        take(decision)
        if !held.isEmpty {
            let parts = held
            held = []
            receive(parts)
        }
        if endIsBuffered { receiveEnd() }
    }

    /// The answer of a call is that a backend must have it.
    mutating func forwardCall() {
        guard isPerformingEndpoint else { return }
        take(.forward)
        deeds += [.pass(collected), .finishBody]
    }

    var isPerformingEndpoint: Bool { state.isPerforming && call == .endpoint }

    var collected: [Int] {
        deeds.flatMap { deed -> [Int] in if case .collect(let parts) = deed { parts } else { [] } }
    }

    private mutating func receive(_ parts: [Int]) {
        switch state.receive(parts.count) {
        case .ignore: break
        case .hold:
            held += parts
            for part in parts { deeds.append(.hold(part)) }
        case .collect: deeds.append(.collect(parts))
        case .callIsTooLong:
            if call == .endpoint { answer(413) } else { deeds += [.collect(parts), .perform] }
        case .pass: deeds.append(.pass(parts))
        case .passThrough: deeds.append(.passThrough(parts))
        case .refuse:
            deeds.append(.cancelUpstream)
            answer(413)
        case .breakOff: deeds += [.cancelUpstream, .record, .breakOff]
        }
    }

    private mutating func receiveEnd() {
        switch state.receiveEnd() {
        case .ignore: break
        case .perform: deeds.append(.perform)
        case .finish: deeds.append(.finishBody)
        case .passThrough: deeds.append(.endTunnelInput)
        }
    }

    private mutating func collect(_ call: Call) {
        self.call = call
        if state.collect(limit: bodyLimit) { deeds.append(.perform) }
    }

    private mutating func answer(_ status: Int) {
        if state.answer() { deeds += [.record, .answer(status)] }
    }

    private mutating func cancel(_ backend: ExchangeState.Backend) {
        switch backend {
        case .nobody: break
        case .upstream: deeds.append(.cancelUpstream)
        case .tunnel: deeds.append(.cancelTunnel)
        }
    }
}
