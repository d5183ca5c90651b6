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
    /// Sends the upgrade request to the backend. From here on the tunnel receives the data of both sides.
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

    /// Forwards the backend's response to a declined handshake. It is the last response on its connection: the client's
    /// next bytes may be WebSocket frames instead of a request.
    func webSocketWasDeclined(_ head: HTTPResponse, _ upstream: UpstreamExchange) {
        state.tunnelDeclined()
        tunnel = nil
        self.upstream = upstream
        // RFC 8441 §4: over HTTP/2 any 2xx response means that the WebSocket is open.
        guard request.head.method != .connect || !(200..<300).contains(head.status.code) else {
            upstream.cancel()
            return upstreamFailed(.protocolFault("malformed-status-line"))
        }
        begin(head)
    }

    /// - Returns: false if the client's connection is congested.
    func sendToClient(_ bytes: ByteBuffer) -> Bool {
        log.bytesSent += bytes.readableBytes
        return stream?.write(bytes) ?? true
    }

    func resumeClient() {
        demand.resume()
    }

    /// - Parameters:
    ///   - reason: the reason why the gateway ended the WebSocket, or the backend's failure; nil for a regular end.
    ///   - brokenOff: whether the client's stream is aborted instead of ended.
    func webSocketEnded(_ reason: Reason?, brokenOff: Bool = false) {
        guard state.tunnelEnded(), let bodyWriter = bodyWriter.take() else { return }
        log.upstreamEnded()
        if let reason { log.reason = reason }
        service.metrics.webSocketClosed()
        record()
        if brokenOff { bodyWriter.breakOff() } else { bodyWriter.end() }
    }
}
