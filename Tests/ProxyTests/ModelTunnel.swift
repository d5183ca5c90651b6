@testable import Pipeline
@testable import Proxy

/// A tunnel without connections: it does what ``WebSocketTunnel`` does for each action of its state, and writes down
/// each deed.
struct ModelTunnel: Equatable {
    enum Event: Hashable {
        // The backend.
        case opened, declined, backend(Bytes), finished, failed
        // The client.
        case client(Bytes), clientEnded, disconnect
        // The gateway. An alarm may be for the token's end, for silence, or early.
        case mustClose, alarm(isExpired: Bool, isIdle: Bool)
    }

    enum Bytes: CaseIterable {
        /// A frame, and its two halves.
        case whole, first, second
        /// A frame, and the first half of the next.
        case wholeAndFirst
        /// The second half of a frame, and another.
        case secondAndWhole
        /// A Close frame, and its two bytes.
        case close, closeFirst, closeSecond
        /// Not a frame.
        case garbage
    }

    enum Deed: Hashable {
        case hold
        case toBackend([UInt8]), toClient([UInt8])
        /// The gateway's own Close frames.
        case closeToBackend(UInt16), closeToClient(UInt16)
        /// A part of the response that declines the WebSocket, and its end.
        case respond([UInt8]), responseEnded
        /// The end of the client's side: by the gateway for a reason, by the backend, or by a broken connection.
        case ended(WebSocketEnd?), brokenOff(WebSocketEnd?), clientWasTooLate
        case finishBackend, cancelBackend
    }

    private(set) var state: WebSocketTunnelState
    private(set) var deeds: [Deed] = []
    private var held: [UInt8] = []
    /// Whether the backend's part is there: it has neither ended nor been cancelled.
    private(set) var hasUpstream = true

    /// - Parameter overHTTP1: whether the upgrade request has an end of its own.
    init(overHTTP1: Bool) {
        state = WebSocketTunnelState(requestEnds: overHTTP1)
    }

    static func fromBackend(_ bytes: Bytes) -> [UInt8] {
        let (first, second): ([UInt8], [UInt8]) = ([0x82, 3, 1], [2, 3])
        return switch bytes {
        case .whole: first + second
        case .first: first
        case .second: second
        case .wholeAndFirst: first + second + first
        case .secondAndWhole: second + first + second
        case .close: [0x88, 0]
        case .closeFirst: [0x88]
        case .closeSecond: [0]
        case .garbage: [0x07]
        }
    }

    static func fromClient(_ bytes: Bytes) -> [UInt8] {
        let (first, second): ([UInt8], [UInt8]) = ([0x82, 0x81, 9], [9, 9, 9, 1])
        return switch bytes {
        case .whole: first + second
        case .first: first
        case .second: second
        case .wholeAndFirst: first + second + first
        case .secondAndWhole: second + first + second
        case .close: [0x88, 0x80, 9, 9, 9, 9]
        case .closeFirst: [0x88]
        case .closeSecond: [0x80, 9, 9, 9, 9]
        case .garbage: [0x07]
        }
    }

    mutating func take(_ events: [Event]) {
        for event in events { take(event) }
    }

    mutating func take(_ event: Event) {
        switch event {
        case .opened: answered(opens: true)
        case .declined: answered(opens: false)
        case .backend(let bytes): backendSent(Self.fromBackend(bytes))
        case .finished: backendEnded(inOrder: true)
        case .failed: backendEnded(inOrder: false)
        case .client(let bytes): clientSent(Self.fromClient(bytes))
        case .clientEnded: clientEnded()
        case .disconnect: disconnect()
        case .mustClose: close(.goingAway)
        case .alarm(let isExpired, let isIdle): alarmRang(isExpired, isIdle)
        }
    }

    private mutating func answered(opens: Bool) {
        guard state.backendAnswered(opens: opens), opens else { return }
        if !held.isEmpty {
            let bytes = held
            held = []
            clientSent(bytes)
        }
        if state.hasClientEnded { clientEnded() }
    }

    private mutating func backendSent(_ bytes: [UInt8]) {
        switch state.backendSent(bytes.span) {
        case .ignore: break
        case .respond: deeds.append(.respond(bytes))
        case .pass: deeds.append(.toClient(bytes))
        case .close(let end, let close):
            deeds.append(.toClient(Array(bytes[..<end])))
            putIn(close)
        case .passAndLeave(let close):
            deeds.append(.toClient(bytes))
            leave(.ended(close.reason))
        }
    }

    private mutating func backendEnded(inOrder: Bool) {
        switch state.backendEnded() {
        case .ignore: break
        case .response: deeds.append(.responseEnded)
        case .webSocket(let close): deeds.append(inOrder ? .ended(close?.reason) : .brokenOff(close?.reason))
        }
        end()
    }

    private mutating func clientSent(_ bytes: [UInt8]) {
        switch state.clientSent(bytes.span) {
        case .ignore: break
        case .hold:
            held += bytes
            deeds.append(.hold)
        case .pass: deeds.append(.toBackend(bytes))
        }
    }

    private mutating func clientEnded() {
        if state.clientEnded() { finishBackend() }
    }

    private mutating func close(_ close: WebSocketClose) {
        guard state.close(with: close) else { return }
        if state.closesBackend { deeds.append(.closeToBackend(close.code)) }
        switch state.closingStep {
        case .ignore, .wait: break
        case .close(let close): putIn(close)
        case .leave(let close): leave(.ended(close.reason))
        }
    }

    private mutating func putIn(_ close: WebSocketClose) {
        deeds.append(.closeToClient(close.code))
        leave(.ended(close.reason))
    }

    private mutating func leave(_ deed: Deed) {
        guard state.leave() else { return }
        deeds.append(deed)
        finishBackend()
    }

    /// A backend's part whose input has ended ignores that it ends again.
    private mutating func finishBackend() {
        if !deeds.contains(.finishBackend) { deeds.append(.finishBackend) }
    }

    private mutating func alarmRang(_ isExpired: Bool, _ isIdle: Bool) {
        switch state.alarmRang(isExpired: isExpired, isIdle: isIdle) {
        case .ignore, .sleep: break
        case .close(let close): self.close(close)
        case .leaveAndCancel:
            leave(.clientWasTooLate)
            disconnect()
        case .breakOff(let close): leave(.brokenOff(close.reason))
        case .cancel: disconnect()
        }
    }

    private mutating func disconnect() {
        if hasUpstream { deeds.append(.cancelBackend) }
        end()
    }

    private mutating func end() {
        state.end()
        hasUpstream = false
        held = []
    }
}
