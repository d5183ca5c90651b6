internal import Clocks
internal import Cryptography
internal import NIOCore
internal import Pipeline
internal import Upstream

/// How and when the gateway itself ends a WebSocket.
extension WebSocketTunnel {
    /// How long a frame that is on its way may take to end, and a side whose other side has ended.
    static let closingLimit = TimeAmount.seconds(5)
    /// The same when the gateway stops.
    private static let leavingLimit = TimeAmount.seconds(1)
    /// The time of day may be set anew: it is looked at now and then.
    private static let longestNap = TimeAmount.minutes(10)

    /// The gateway stops.
    func mustClose() {
        close(.goingAway, within: Self.leavingLimit)
    }

    private func close(_ close: WebSocketClose, within limit: TimeAmount) {
        guard state.close(with: close) else { return }
        if state.closesBackend {
            // Why it is over.
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

    /// Ends the client's side. The backend's is closed when it has ended as well: closing it at once could reset the
    /// connection, and the reset overtake what the backend has not read yet.
    func leave(_ reason: Reason, brokenOff: Bool = false) {
        // The client may have gone while it was told.
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

    /// Until the token that opened it expires.
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
            // All there is left to say is that nothing comes any more.
            leave(.webSocket(close.reason), brokenOff: true)
        case .cancel:
            clientDisconnected()
        }
    }
}
