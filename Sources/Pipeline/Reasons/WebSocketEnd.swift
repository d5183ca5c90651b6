/// The reason that the gateway ends a WebSocket. The raw values are reason codes.
package enum WebSocketEnd: String, Sendable, CaseIterable {
    case tokenExpired = "websocket-token-expired"
    case idle = "websocket-idle"
    case goingAway = "websocket-going-away"
}
