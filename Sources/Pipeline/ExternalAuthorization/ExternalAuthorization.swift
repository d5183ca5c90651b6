internal import Encoding
internal import HTTP1
package import HTTPTypes

/// The gateway as the decision service of a proxy that serves the clients itself. Each request on such a listener is a
/// question: may the original request, which the proxy has and the question names, go on?
///
/// Nothing is decided about a question that can be read in two ways.
package final class ExternalAuthorization: Sendable {
    /// The proxy that asks. Each names the original request in its own way, and only that way is read: a client could
    /// use the other ones.
    package enum Proxy: String, Sendable, CaseIterable {
        case nginx
        case traefik
        case caddy
        case envoy
    }

    package let proxy: Proxy
    /// The peers that may ask.
    private let trusted: [IPNetwork]
    /// Those whose word for the client's address counts: the peers that may ask, and what is in front of these.
    package let proxies: TrustedProxies

    /// - Parameters:
    ///   - trusted: the peers that may ask.
    ///   - infront: further proxies, between the clients and these.
    /// - Returns: nil if nobody may ask.
    package init?(_ proxy: Proxy, trusted: [IPNetwork], inFront: [IPNetwork] = []) {
        guard !trusted.isEmpty, let proxies = TrustedProxies(trusted + inFront) else { return nil }
        self.proxy = proxy
        self.trusted = trusted
        self.proxies = proxies
    }

    /// The original request, in the question's place.
    ///
    /// - Parameter peer: the address of the connection's peer.
    /// - Throws: why nothing is decided.
    package func original(of question: HTTPRequest, peer: String) throws(Refusal) -> HTTPRequest {
        guard let address = IPAddress(peer), trusted.contains(where: { $0.contains(address) }) else {
            throw Self.proxyNotTrusted
        }
        // The proxy's address must not be taken for the client's.
        guard TrustedProxies.namesClient(question.headerFields) else { throw Self.originalUnclear }
        var original = question
        switch proxy {
        case .nginx: try Self.replace(&original, by: OriginalFields.url)
        case .traefik, .caddy: try Self.replace(&original, by: OriginalFields.forwarded)
        case .envoy: guard original.authority != nil else { throw Self.originalUnclear }
        }
        if original.opensWebSocket { original.extendedConnectProtocol = WebSocketHandshake.protocolName }
        return original
    }

    private static func replace(
        _ request: inout HTTPRequest, by reading: (HTTPFields) -> OriginalFields?
    ) throws(Refusal) {
        guard let original = reading(request.headerFields), Authority.isValid(original.authority) else {
            throw originalUnclear
        }
        request.method = original.method
        request.authority = original.authority
        request.path = original.path
        if let scheme = original.scheme {
            request.scheme = scheme
            request.headerFields[.xForwardedProto] = nil
        }
        for name in original.names { request.headerFields[name] = nil }
    }

    /// The refusal as the proxy takes it. nginx makes 500 of everything that is neither 401 nor 403.
    package func answer(_ refusal: Refusal) -> Refusal {
        guard proxy == .nginx, refusal.error.status.kind == .clientError, refusal.error.status != .unauthorized else {
            return refusal
        }
        var refusal = refusal
        refusal.error = .accessDenied
        return refusal
    }

    /// The caller's identity as the proxy takes it. Caddy 2.6 copies the name of a placeholder from a header that is not
    /// there, and nothing from one that is empty.
    ///
    /// - Parameter names: of all headers that an identity may have.
    package func answer(_ identity: HTTPFields, names: [HTTPField.Name]) -> HTTPFields {
        guard proxy == .caddy else { return identity }
        var identity = identity
        for name in names where !identity.contains(name) { identity.append(HTTPField(name: name, value: "")) }
        return identity
    }

    private static let proxyNotTrusted = Refusal(.accessDenied, reason: .request(.proxyNotTrusted))
    private static let originalUnclear = Refusal(.badRequest, reason: .request(.originalRequestUnclear))

    /// The request is one that the gateway answers itself: an account call, a preflight, its key set.
    package static let notDecided = Refusal(.accessDenied, reason: .request(.notDecided))
    /// The request is an app's call to Cognito.
    package static let directCognito = Refusal(.accessDenied, reason: .request(.directCognito))
    /// The proxy would pass the header on.
    package static let overridden = Refusal(.accessDenied, reason: .request(.overrideHeader))
}

extension HTTPRequest {
    /// Whether it is the opening of a WebSocket of which the proxy has kept `Upgrade` to itself (RFC 6455 §4.1).
    fileprivate var opensWebSocket: Bool {
        extendedConnectProtocol == nil
            && (headerFields.contains(.secWebSocketKey) || headerFields.contains(.secWebSocketVersion))
    }
}
