internal import Clocks
internal import Cryptography
internal import NIOCore
internal import Pipeline
internal import Upstream

/// Closing of a WebSocket by the gateway.
extension WebSocketTunnel {
    /// The time limit for the end of a frame in transit, and for the end of one side after the other has ended.
    static let closingLimit = TimeAmount.seconds(5)
    /// The time limit for the end of a frame in transit when the gateway shuts down.
    private static let leavingLimit = TimeAmount.seconds(1)
    /// The maximum time between checks of the token's expiry, because the wall clock may be adjusted.
    private static let longestNap = TimeAmount.minutes(10)

    /// Closes the WebSocket because the gateway shuts down.
    func mustClose() {
        close(.goingAway, within: Self.leavingLimit)
    }

    private func close(_ close: WebSocketClose, within limit: TimeAmount) {
        guard state.close(with: close) else { return }
        if state.closesBackend {
            // The Close frame carries the reason.
            _ = upstream?.send(body: ByteBuffer(bytes: close.frame(mask: SecureRandom.bytes(4))))
        }
        switch state.closingStep {
        case .ignore: break
        case .close(let close): putIn(close)
        case .wait: setAlarm(in: limit)
        case .leave(let close): leave(.webSocket(close.reason))
        }
    }

    func putIn(_ close: WebSocketClose) {
        pass(ByteBuffer(bytes: close.frame()))
        leave(.webSocket(close.reason))
    }

    /// Ends the client's side. The backend's connection is closed only after the backend has ended as well. Closing it
    /// at once could reset the connection, and the reset could overtake data that the backend has not read yet.
    func leave(_ reason: Reason, brokenOff: Bool = false) {
        // The client may have disconnected during the previous call.
        guard state.leave(), let exchange else { return }
        self.exchange = nil
        exchange.webSocketEnded(reason, brokenOff: brokenOff)
        setAlarm(in: Self.closingLimit)
        upstream?.finishBody()
        upstream?.resume()
    }

    // MARK: Time

    func setAlarm() {
        var nap = min(Self.longestNap, lastActivity + TimeAmount(grant.idleTimeout) - .now())
        if let left = timeLeft { nap = min(nap, left) }
        setAlarm(in: nap)
    }

    /// The time until the token that opened the WebSocket expires; nil if it does not limit the WebSocket.
    private var timeLeft: TimeAmount? {
        grant.endsAt.map { endsAt in
            let seconds = min(max(endsAt, 0), WallClock.seconds() + 86_400)
            return .milliseconds(seconds * 1000 - WallClock.milliseconds())
        }
    }

    func setAlarm(in time: TimeAmount) {
        alarm?.cancel()
        let tunnel = NIOLoopBound(self, eventLoop: eventLoop)
        alarm = eventLoop.scheduleTask(in: max(time, .zero)) { tunnel.value.alarmRang() }
    }

    private func alarmRang() {
        let isExpired = timeLeft.map { $0 <= .zero } ?? false
        switch state.alarmRang(isExpired: isExpired, isIdle: .now() - lastActivity >= TimeAmount(grant.idleTimeout)) {
        case .ignore:
            break
        case .sleep:
            setAlarm()
        case .close(let close):
            self.close(close, within: Self.closingLimit)
        case .leaveAndCancel:
            leave(.request(.clientDisconnected))
            clientDisconnected()
        case .breakOff(let close):
            // No Close frame can be sent inside an unfinished frame: the connection is aborted.
            leave(.webSocket(close.reason), brokenOff: true)
        case .cancel:
            clientDisconnected()
        }
    }
}
