package import HTTPTypes

/// The permission to send one request to one backend, and exactly what is sent. Only ``Gate`` makes one.
///
/// It cannot be copied: one decision, one request.
package struct Permit: ~Copyable {
    /// Method, authority and the client's fields; ``passes(_:)`` says which of the fields are forwarded.
    package let request: HTTPRequest
    /// Path and query, byte for byte as authorised, after the route's rewrite of their prefix.
    package let target: String
    /// The route's position in the table.
    package let routeIndex: Int
    /// Complete header lines that the gateway adds: forwarding, tracing, identity.
    package let lines: [UInt8]
    /// The range of the caller's identity in ``lines``.
    private let identity: Range<Int>
    /// The caller's `sub`; nil if no token was verified.
    package let subject: String?
    /// Whether the backend may turn the request into a WebSocket.
    package let webSocket: WebSocketGrant?
    /// Whether ``webSocket`` is set. Reading this copies nothing.
    package let isWebSocket: Bool
    private let rule: RouteRule
    private let connectionOptions: [String]
    private let dropsAuthorization: Bool
    /// The client's fields that ``lines`` replaces, or that are removed.
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

    /// Whether a field of the client reaches the backend. Framing fields never do: the gateway writes its own.
    package func passes(_ field: HTTPField) -> Bool {
        if field.name == .contentLength { return false }
        // The gateway writes this one too: over HTTP/2 the key is its own.
        if isWebSocket, field.name == .secWebSocketKey { return false }
        if dropsAuthorization, field.name == .authorization { return false }
        if !replaced.isEmpty, replaced.contains(field.name) { return false }
        return rule.inbound.passes(field, connectionOptions: connectionOptions)
    }

    /// The caller's identity, as sent to the backend; empty if no token was verified.
    package var identityFields: HTTPFields {
        var fields: HTTPFields = [:]
        for line in lines[identity].split(separator: UInt8(ascii: "\n")) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            // The colon is followed by a space, and the line ends with CR.
            fields.append(HTTPField(name: name, lenientValue: line[colon...].dropFirst(2).dropLast()))
        }
        return fields
    }

    /// Whether the fields that do not pass are dangerous if they are forwarded nevertheless. The backend may take
    /// another path, host or method from one, skip its checks because of one, or read one as a header of the gateway in
    /// another spelling (``HeaderNames/normalised(_:)``).
    package var isOverridden: Bool {
        request.headerFields.contains { field in
            guard !passes(field) else { return false }
            let name = field.name.canonicalName
            guard name.utf8.allSatisfy(HeaderNames.isPlain) else { return true }
            return switch TrustedHeader.named(name)?.meaning {
            case .path, .host, .method: true
            // Envoy adds fields of its own to the authorization request.
            case .internalRedirect: !["x-envoy-", "x-istio-"].contains { name.utf8.starts(with: $0.utf8) }
            case .scheme, .clientAddress, .identity, nil: false
            }
        }
    }
}

extension Gate {
    /// Makes a permit for one of the gate's routes, under that route's rule. No other code makes permits.
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
