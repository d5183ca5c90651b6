internal import Cryptography
internal import HTTP1
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline
internal import Telemetry
internal import Upstream

/// The client's side of a WebSocket.
extension Exchange {
    /// Asks the backend for a WebSocket. From here on its tunnel hears what backend and client say.
    func openWebSocket(_ permit: consuming Permit, _ grant: WebSocketGrant, upstream index: Int) {
        log.forwarding()
        closesConnection = true
        let key = grant.key ?? WebSocketHandshake.key(of: SecureRandom.bytes(16))
        let timeouts = service.plan.timeoutsOfRoute[permit.routeIndex]
        let pool = service.pools[index]
        let tunnel = WebSocketTunnel(self, grant, eventLoop: service.eventLoop)
        state.openTunnel()
        self.tunnel = tunnel
        let forwarded = ForwardedRequest(
            permit, framing: .none, upstream: service.plan.upstreams[index].settings, webSocketKey: key,
            buffer: pool.takeBuffer())
        let upstream = pool.send(forwarded, subject: log.subject, timeouts: timeouts, to: tunnel)
        log.forwarded(as: upstream)
        tunnel.begin(upstream)
    }

    func webSocketOpened(_ head: HTTPResponse, _ grant: WebSocketGrant) {
        service.metrics.webSocketOpened()
        var head = head
        if let accepted = grant.acceptedProtocol, !head.headerFields.contains(.secWebSocketProtocol) {
            head.headerFields[.secWebSocketProtocol] = accepted
        }
        begin(head)
    }

    /// Passes on the backend's response to the declined handshake. It is the last one on its connection: nobody can
    /// know whether the client's next bytes are a request.
    func webSocketWasDeclined(_ head: HTTPResponse, _ upstream: UpstreamExchange) {
        state.tunnelDeclined()
        tunnel = nil
        self.upstream = upstream
        // RFC 8441 §4: over HTTP/2 every 2xx would say that the WebSocket is open.
        guard request.head.method != .connect || !(200..<300).contains(head.status.code) else {
            upstream.cancel()
            return upstreamFailed(.protocolFault("malformed-status-line"))
        }
        begin(head)
    }

    /// - Returns: whether the client keeps up.
    func sendToClient(_ bytes: ByteBuffer) -> Bool {
        log.bytesSent += bytes.readableBytes
        return stream?.write(bytes) ?? true
    }

    func resumeClient() {
        demand.resume()
    }

    /// - Parameters:
    ///   - reason: why the gateway ended it, or how the backend failed.
    ///   - brokenOff: without an orderly end of the client's connection.
    func webSocketEnded(_ reason: Reason?, brokenOff: Bool = false) {
        guard state.tunnelEnded(), let bodyWriter = bodyWriter.take() else { return }
        log.upstreamEnded()
        if let reason { log.reason = reason }
        service.metrics.webSocketClosed()
        record()
        if brokenOff { bodyWriter.breakOff() } else { bodyWriter.end() }
    }
}
