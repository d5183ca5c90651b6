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
        switch phase {
        case .open, .clientEnded: break
        default: return
        }
        phase = .closing(close)
        tellBackend(close)
        // Being told, it may have ended the tunnel already.
        guard case .closing = phase else { return }
        if fromBackend.isAtBoundary {
            putIn(close)
        } else if fromBackend.isTracking {
            setAlarm(in: limit)
        } else {
            leave(.webSocket(close.reason))
        }
    }

    /// The backend hears in a Close frame why it is over, if the client has not stopped within a frame of its own.
    private func tellBackend(_ close: WebSocketClose) {
        guard fromClient.isAtBoundary, !hasClientEnded else { return }
        _ = upstream?.send(body: ByteBuffer(bytes: close.frame(mask: SecureRandom.bytes(4))))
    }

    func putIn(_ close: WebSocketClose) {
        pass(ByteBuffer(bytes: close.frame()))
        leave(.webSocket(close.reason))
    }

    /// Ends the client's side. The backend's is closed when it has ended as well: closing it at once could reset the
    /// connection, and the reset overtake what the backend has not read yet.
    func leave(_ reason: Reason, brokenOff: Bool = false) {
        // The client may have gone while it was told.
        guard let exchange else { return }
        phase = .leaving
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
        switch phase {
        case .open:
            if let left = timeLeft, left <= .zero {
                close(.tokenExpired, within: Self.closingLimit)
            } else if .now() - lastActivity >= TimeAmount(grant.idleTimeout) {
                close(.idle, within: Self.closingLimit)
            } else {
                setAlarm()
            }
        case .clientEnded:
            leave(.request(.clientDisconnected))
            clientDisconnected()
        case .closing(let close):
            // The frame did not end: all there is left to say is that nothing comes any more.
            leave(.webSocket(close.reason), brokenOff: true)
        case .leaving:
            clientDisconnected()
        case .asking, .declined, .done:
            break
        }
    }
}
