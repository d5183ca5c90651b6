internal import Encoding
internal import HTTPTypes

/// A route's settings for WebSockets.
package struct WebSocketPolicy: Sendable, Equatable {
    /// Whether a WebSocket ends when the token that opened it expires.
    package var closesOnExpiry: Bool
    /// The maximum time in which neither side sends anything.
    package var idleTimeout: Duration

    package init(closesOnExpiry: Bool = true, idleTimeout: Duration = .seconds(3600)) {
        self.closesOnExpiry = closesOnExpiry
        self.idleTimeout = idleTimeout
    }
}

/// The permission to turn one request into a WebSocket, as a part of its ``Permit``.
package struct WebSocketGrant: Sendable, Equatable {
    /// The client's `Sec-WebSocket-Key`; nil over HTTP/2, which has none (RFC 8441 §5).
    package let key: String?
    /// The first second since 1970 at which it must end; nil if no token opened it, or if the route lets it continue.
    package let endsAt: Int64?
    package let idleTimeout: Duration
    /// The subprotocol of the response if the backend selects none: the one after which the client sent its token. Some
    /// browsers give up if none of theirs is selected.
    package internal(set) var acceptedProtocol: String?
}

/// A request's attempt to open a WebSocket, and the decision about it.
enum WebSocketOpening {
    /// No attempt, or a protocol that the route does not allow: an ordinary request.
    case none
    case granted(WebSocketGrant)
    case refused(Refusal)

    /// - Parameters:
    ///   - request: its `extendedConnectProtocol` names the requested protocol, in every HTTP version.
    ///   - tokenEndsAt: the end of the token that was verified for it, in seconds since 1970.
    init(_ request: HTTPRequest, hasBody: Bool, rule: RouteRule, tokenEndsAt: Int64?) {
        guard let wanted = request.extendedConnectProtocol else {
            self = .none
            return
        }
        // Over HTTP/2 the attempt is not also an ordinary request that could be answered instead.
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
            // RFC 6455 §4.4: the response names the accepted version.
            let versions: HTTPFields = [.secWebSocketVersion: WebSocketHandshake.version]
            self = .refused(Refusal(.badRequest, headers: versions, reason: .request(.webSocketVersion)))
            return
        }
        let key = isConnect ? nil : Self.single(.secWebSocketKey, request)
        guard isConnect || key.map(WebSocketHandshake.isKey) == true else {
            self = .refused(Self.malformed)
            return
        }
        // RFC 6455 §10.2: a page's script can open WebSockets to any server, without a preflight.
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
