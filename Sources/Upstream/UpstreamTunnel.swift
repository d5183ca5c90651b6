internal import Encoding
internal import HTTP1
internal import HTTPTypes
internal import NIOCore
internal import Pipeline

extension UpstreamExchange {
    /// Handles `101 Switching Protocols`: from here on, bytes pass in both directions unchanged, with the same
    /// backpressure as a body of unknown length and without a timeout. The connection cannot be reused after that.
    func switchProtocols(_ head: ResponseHead) throws(HTTP1Fault) {
        // RFC 9110 §15.2.2: only to a requested protocol.
        guard let key = request.webSocketKey, Self.accepts(head.fields.list, key) else { throw .malformedStatusLine }
        becomeTunnel()
        if let server { pool.responded(server, status: head.status.code, to: self) }
        receiver?.upstreamResponded(head)
    }

    /// Returns whether the response passes a client's checks (RFC 6455 §4.1).
    private static func accepts(_ fields: HTTPFields, _ key: String) -> Bool {
        let upgrades = fields[values: .upgrade]
        let accepts = fields[values: .secWebSocketAccept]
        return upgrades.count == 1
            && FieldText.isSame(upgrades[0], ignoringCase: WebSocketHandshake.protocolName)
            && fields.lists("upgrade", in: .connection)
            && accepts.count == 1 && accepts[0].hasSameBytes(as: WebSocketHandshake.accept(for: key))
    }
}
