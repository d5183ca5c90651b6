internal import Encoding
internal import HTTPTypes

/// A route's settings for WebSockets.
package struct WebSocketPolicy: Sendable, Equatable {
    /// Whether a WebSocket ends when the token that opened it does.
    package var closesOnExpiry: Bool
    /// How long neither side need say anything.
    package var idleTimeout: Duration

    package init(closesOnExpiry: Bool = true, idleTimeout: Duration = .seconds(3600)) {
        self.closesOnExpiry = closesOnExpiry
        self.idleTimeout = idleTimeout
    }
}

/// The right to turn one request into a WebSocket, as a part of its ``Permit``.
package struct WebSocketGrant: Sendable, Equatable {
    /// The client's `Sec-WebSocket-Key`; nil over HTTP/2, which has none (RFC 8441 §5).
    package let key: String?
    /// The first second since 1970 at which it must not go on; nil: no token opened it, or the route lets it stay.
    package let endsAt: Int64?
    package let idleTimeout: Duration
    /// The subprotocol to answer where the backend chooses none: the one behind which the client sent its token, since
    /// some browsers give up where none of theirs is chosen.
    package internal(set) var acceptedProtocol: String?
}

/// A request's wish for a WebSocket, and the decision about it.
enum WebSocketOpening {
    /// Nothing, or nothing that the route knows: an ordinary request.
    case none
    case granted(WebSocketGrant)
    case refused(Refusal)

    /// - Parameters:
    ///   - request: whose `extendedConnectProtocol` tells what the connection is to become, in every HTTP version.
    ///   - tokenEndsAt: when the token ends that was verified for it, in seconds since 1970.
    init(_ request: HTTPRequest, hasBody: Bool, rule: RouteRule, tokenEndsAt: Int64?) {
        guard let wanted = request.extendedConnectProtocol else {
            self = .none
            return
        }
        // Over HTTP/2 there is no ordinary request behind the wish that could be answered instead.
        let isConnect = request.method == .connect
        guard let policy = rule.webSocket, WebSocketHandshake.isProtocolName(wanted) else {
            self = isConnect ? .refused(Refusal(.notImplemented, reason: .request(.webSocketNotServed))) : .none
            return
        }
        guard isConnect || request.method == .get, isConnect == hasBody else {
            self = .refused(Self.malformed)
            return
        }
        guard Self.single(.secWebSocketVersion, request)?.hasSameBytes(as: WebSocketHandshake.version) == true else {
            // RFC 6455 §4.4: the answer says which version would do.
            let versions: HTTPFields = [.secWebSocketVersion: WebSocketHandshake.version]
            self = .refused(Refusal(.badRequest, headers: versions, reason: .request(.webSocketVersion)))
            return
        }
        let key = isConnect ? nil : Self.single(.secWebSocketKey, request)
        guard isConnect || key.map(WebSocketHandshake.isKey) == true else {
            self = .refused(Self.malformed)
            return
        }
        // RFC 6455 §10.2: a page's script opens WebSockets to any server, and no preflight comes before.
        guard rule.crossOrigin?.allowsPage(of: request) != false else {
            self = .refused(Refusal(.accessDenied, reason: .request(.crossOriginNotAllowed)))
            return
        }
        self = .granted(
            WebSocketGrant(
                key: key, endsAt: policy.closesOnExpiry ? tokenEndsAt : nil, idleTimeout: policy.idleTimeout))
    }

    private static let malformed = Refusal(.badRequest, reason: .request(.webSocketHandshake))

    private static func single(_ name: HTTPField.Name, _ request: HTTPRequest) -> String? {
        let values = request.headerFields[values: name]
        return values.count == 1 ? values[0] : nil
    }
}
