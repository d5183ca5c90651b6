internal import Encoding
internal import HTTP1
package import HTTPTypes

/// External authorization: the gateway decides for a proxy that serves the clients itself. Each request on such a
/// listener asks whether the original request, which the proxy received and the authorization request describes, may
/// proceed.
///
/// An authorization request that can be read in two ways gets no decision but an error.
package final class ExternalAuthorization: Sendable {
    /// The proxy that asks. Each describes the original request in its own way. Only that way is read, because a client
    /// could send the fields of the others.
    package enum Proxy: String, Sendable, CaseIterable {
        case nginx
        case traefik
        case caddy
        case envoy
    }

    package let proxy: Proxy
    /// The peers that may ask for decisions.
    private let trusted: [IPNetwork]
    /// The proxies whose forwarded client address is trusted: the peers that may ask, and the proxies in front of them.
    package let proxies: TrustedProxies

    /// - Parameters:
    ///   - trusted: the peers that may ask for decisions.
    ///   - inFront: further proxies, between the clients and these peers.
    /// - Returns: nil if `trusted` is empty.
    package init?(_ proxy: Proxy, trusted: [IPNetwork], inFront: [IPNetwork] = []) {
        guard !trusted.isEmpty, let proxies = TrustedProxies(trusted + inFront) else { return nil }
        self.proxy = proxy
        self.trusted = trusted
        self.proxies = proxies
    }

    /// Returns the original request that an authorization request describes.
    ///
    /// - Parameter peer: the address of the connection's peer.
    /// - Throws: ``Refusal`` if the peer may not ask, or if the client's address or the original request is unclear.
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

    /// Returns the refusal in a form that the proxy passes on. nginx turns every status other than 401 and 403 into
    /// 500.
    package func answer(_ refusal: Refusal) -> Refusal {
        guard proxy == .nginx, refusal.error.status.kind == .clientError, refusal.error.status != .unauthorized else {
            return refusal
        }
        var refusal = refusal
        refusal.error = .accessDenied
        return refusal
    }

    /// Returns the caller's identity in a form that the proxy passes on. From a missing header Caddy 2.6 copies the
    /// name of the placeholder, and from an empty one nothing.
    ///
    /// - Parameter names: all headers that an identity may have.
    package func answer(_ identity: HTTPFields, names: [HTTPField.Name]) -> HTTPFields {
        guard proxy == .caddy else { return identity }
        var identity = identity
        for name in names where !identity.contains(name) { identity.append(HTTPField(name: name, value: "")) }
        return identity
    }

    private static let proxyNotTrusted = Refusal(.accessDenied, reason: .request(.proxyNotTrusted))
    private static let originalUnclear = Refusal(.badRequest, reason: .request(.originalRequestUnclear))

    /// The gateway answers the request itself: an account call, a preflight, its key set.
    package static let notDecided = Refusal(.accessDenied, reason: .request(.notDecided))
    /// The request is an app's call to Cognito.
    package static let directCognito = Refusal(.accessDenied, reason: .request(.directCognito))
    /// The proxy would forward a header that the gateway would remove.
    package static let overridden = Refusal(.accessDenied, reason: .request(.overrideHeader))
}

extension HTTPRequest {
    /// Whether the request opens a WebSocket (RFC 6455 §4.1). The proxy does not forward `Upgrade`.
    fileprivate var opensWebSocket: Bool {
        extendedConnectProtocol == nil
            && (headerFields.contains(.secWebSocketKey) || headerFields.contains(.secWebSocketVersion))
    }
}
