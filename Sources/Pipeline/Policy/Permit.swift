package import HTTPTypes

/// The right to send one request to one backend, and what exactly is sent. Only ``Gate`` makes one.
///
/// It cannot be copied: one decision, one request.
package struct Permit: ~Copyable {
    /// Method, authority and the client's fields; ``passes(_:)`` says which of them go on.
    package let request: HTTPRequest
    /// Path and query, byte for byte as they were authorised, after the route's own change of their prefix.
    package let target: String
    /// The route's position in the table.
    package let routeIndex: Int
    /// Complete header lines that the gateway adds: forwarding, tracing, identity.
    package let lines: [UInt8]
    /// The caller's `sub`; nil if no token was verified.
    package let subject: String?
    /// Whether the backend may turn the request into a WebSocket.
    package let webSocket: WebSocketGrant?
    private let rule: RouteRule
    private let connectionOptions: [String]
    private let dropsAuthorization: Bool
    /// Fields whose place is taken by ``lines``, or by nothing.
    private let replaced: [HTTPField.Name]

    fileprivate init(
        request: HTTPRequest, target: String, routeIndex: Int, rule: RouteRule, lines: [UInt8], subject: String?,
        dropsAuthorization: Bool, replaced: [HTTPField.Name], webSocket: WebSocketGrant?
    ) {
        self.request = request
        self.target = target
        self.routeIndex = routeIndex
        self.lines = lines
        self.subject = subject
        self.webSocket = webSocket
        self.rule = rule
        self.connectionOptions = rule.inbound.connectionOptions(of: request.headerFields)
        self.dropsAuthorization = dropsAuthorization
        self.replaced = replaced
    }

    /// Whether a field of the client's reaches the backend. Framing fields never do: they are written anew.
    package func passes(_ field: HTTPField) -> Bool {
        if field.name == .contentLength { return false }
        // Written anew as well, being the gateway's own over HTTP/2.
        if webSocket != nil, field.name == .secWebSocketKey { return false }
        if dropsAuthorization, field.name == .authorization { return false }
        if !replaced.isEmpty, replaced.contains(field.name) { return false }
        return rule.inbound.passes(field, connectionOptions: connectionOptions)
    }
}

extension Gate {
    /// The one place that makes permits: for a route of the gate's own, under that route's rule.
    func permit(
        _ request: HTTPRequest, target: String, routeIndex: Int, lines: [UInt8], subject: String?,
        dropsAuthorization: Bool, replaced: [HTTPField.Name] = [], webSocket: WebSocketGrant? = nil
    ) -> Permit {
        Permit(
            request: request, target: target, routeIndex: routeIndex, rule: rules[routeIndex], lines: lines,
            subject: subject, dropsAuthorization: dropsAuthorization, replaced: replaced, webSocket: webSocket)
    }
}
