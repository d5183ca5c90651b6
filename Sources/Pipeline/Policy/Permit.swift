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
    /// Where among them the caller's identity is.
    private let identity: Range<Int>
    /// The caller's `sub`; nil if no token was verified.
    package let subject: String?
    /// Whether the backend may turn the request into a WebSocket.
    package let webSocket: WebSocketGrant?
    /// The same. To ask for it copies nothing.
    package let isWebSocket: Bool
    private let rule: RouteRule
    private let connectionOptions: [String]
    private let dropsAuthorization: Bool
    /// Fields whose place is taken by ``lines``, or by nothing.
    private let replaced: [HTTPField.Name]

    fileprivate init(
        request: HTTPRequest, target: String, routeIndex: Int, rule: RouteRule, lines: [UInt8], identity: Range<Int>,
        subject: String?, dropsAuthorization: Bool, replaced: [HTTPField.Name], webSocket: WebSocketGrant?
    ) {
        self.request = request
        self.target = target
        self.routeIndex = routeIndex
        self.lines = lines
        self.identity = identity
        self.subject = subject
        self.isWebSocket = webSocket != nil
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
        if isWebSocket, field.name == .secWebSocketKey { return false }
        if dropsAuthorization, field.name == .authorization { return false }
        if !replaced.isEmpty, replaced.contains(field.name) { return false }
        return rule.inbound.passes(field, connectionOptions: connectionOptions)
    }

    /// The caller's identity, as the backend gets it; empty if no token was verified.
    package var identityFields: HTTPFields {
        var fields: HTTPFields = [:]
        for line in lines[identity].split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            // Behind the colon a space, and CR at the end.
            fields.append(HTTPField(name: name, lenientValue: line[colon...].dropFirst(2).dropLast()))
        }
        return fields
    }

    /// Whether a backend that gets the fields that do not pass all the same may take another path, host or method from
    /// one, may skip its checks for one, or may read one as a header of the gateway's that is spelt otherwise (``HeaderNames/normalised(_:)``).
    package var isOverridden: Bool {
        request.headerFields.contains { field in
            guard !passes(field) else { return false }
            let name = field.name.canonicalName
            guard name.utf8.allSatisfy(HeaderNames.isPlain) else { return true }
            return switch TrustedHeader.named(name)?.meaning {
            case .path, .host, .method: true
            // Envoy itself adds its own to what it asks.
            case .internalRedirect: !["x-envoy-", "x-istio-"].contains { name.utf8.starts(with: $0.utf8) }
            case .scheme, .clientAddress, .identity, nil: false
            }
        }
    }
}

extension Gate {
    /// The one place that makes permits: for a route of the gate's own, under that route's rule.
    func permit(
        _ request: HTTPRequest, _ context: RequestContext, target: String, routeIndex: Int, lines: [UInt8],
        identity: Range<Int> = 0..<0, subject: String?, dropsAuthorization: Bool, replaced: [HTTPField.Name] = [],
        webSocket: WebSocketGrant? = nil
    ) -> Permit {
        Permit(
            request: request, target: target, routeIndex: routeIndex, rule: rules[routeIndex], lines: lines,
            identity: identity, subject: subject, dropsAuthorization: dropsAuthorization,
            replaced: context.beginsTrace ? replaced + [.tracestate] : replaced, webSocket: webSocket)
    }
}
