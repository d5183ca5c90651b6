/// The reason that the gateway ends a WebSocket, and the Close frame that states it (RFC 6455 §5.5.1, §7.4).
package struct WebSocketClose: Sendable, Equatable {
    /// The status code in the frame.
    package let code: UInt16
    let text: String
    /// The reason code of logs and metrics.
    package let reason: WebSocketEnd

    /// The token that opened it has expired. 4000 to 4999 are for private use (§7.4.2); the last digits are those of
    /// the HTTP status.
    package static let tokenExpired = WebSocketClose(
        code: 4401, text: "token expired", reason: .tokenExpired)
    /// Neither side sent anything for the time that the route allows.
    package static let idle = WebSocketClose(code: 4408, text: "idle", reason: .idle)
    /// The gateway shuts down.
    package static let goingAway = WebSocketClose(code: 1001, text: "going away", reason: .goingAway)

    /// Returns the whole Close frame.
    ///
    /// - Parameter mask: four unpredictable bytes for a frame to a server (§5.3), nil for a frame to a client.
    package func frame(mask: [UInt8]? = nil) -> [UInt8] {
        let payload = [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(text.utf8)
        guard let mask else { return [0x88, UInt8(payload.count)] + payload }
        precondition(mask.count == 4, "a masking key has four bytes")
        return [0x88, 0x80 | UInt8(payload.count)] + mask
            + payload.enumerated().map { index, byte in byte ^ mask[index % 4] }
    }
}
