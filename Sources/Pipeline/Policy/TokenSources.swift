internal import HTTPTypes

/// The sources of a route's token besides `Authorization`. The query is never one, because it ends up in logs.
package struct TokenSources: Sendable, Equatable {
    /// The name of a cookie whose value is the token.
    package var cookie: String?
    /// The WebSocket subprotocol after which a client lists its token as another subprotocol, because a page's script
    /// cannot set headers: `Sec-WebSocket-Protocol: bearer, TOKEN`.
    package var webSocketProtocol: String?

    package init(cookie: String? = nil, webSocketProtocol: String? = nil) {
        self.cookie = cookie
        self.webSocketProtocol = webSocketProtocol
    }

    /// Field lines that go to the backend in place of the client's fields of these names.
    struct Replacement {
        var names: [HTTPField.Name] = []
        var lines: [UInt8] = []
    }

    /// Removes the token's cookie, and the token from the subprotocols. The rest of these fields is forwarded.
    ///
    /// - Parameter keepsCookie: whether the token came from the cookie and the route forwards tokens.
    func replacement(in request: HTTPRequest, keepsCookie: Bool, inbound: InboundFields) -> Replacement {
        var replacement = Replacement()
        if let cookie, !keepsCookie {
            let others = CookiePairs(of: request).others(than: cookie).joined(by: "; ")
            replacement.replace(HTTPField(name: .cookie, lenientValue: others), "Cookie", others, inbound)
        }
        if let webSocketProtocol {
            let others = Subprotocols(of: request).others(than: webSocketProtocol).joined(by: ", ")
            replacement.replace(
                HTTPField(name: .secWebSocketProtocol, lenientValue: others), "Sec-WebSocket-Protocol", others, inbound)
        }
        return replacement
    }
}

extension TokenSources.Replacement {
    /// Replaces a field. If the route's own rules remove or set the field, the client's is only removed.
    fileprivate mutating func replace(
        _ field: HTTPField, _ name: String, _ value: [UInt8], _ inbound: InboundFields
    ) {
        names.append(field.name)
        guard !value.isEmpty, inbound.passes(field, connectionOptions: []) else { return }
        lines.append(contentsOf: "\(name): ".utf8)
        lines.append(contentsOf: value)
        lines.append(contentsOf: "\r\n".utf8)
    }
}

/// The token that a request presents to a route.
enum PresentedToken {
    enum Source {
        case authorization, cookie, webSocketProtocol
    }

    case none
    /// As ``BearerToken/value(_:prefix:)``.
    case value(String, prefix: Int, Source)
    case refused(Refusal)
}

extension RouteRule {
    /// Finds the token among the route's sources. A token that the client chose to send with this request, in
    /// `Authorization` or a subprotocol, takes precedence over a cookie, which browsers send automatically.
    func presentedToken(of request: HTTPRequest, scheme: String) -> PresentedToken {
        var authorization = PresentedToken.none
        switch BearerToken(of: request) {
        case .repeated: return .refused(Refusal(.badRequest, reason: .request(.repeatedAuthorization)))
        case .none: break
        case .value(let value, let prefix): authorization = .value(value, prefix: prefix, .authorization)
        }
        guard let tokenSources else { return authorization }
        let presented = presentedToken(of: request, authorization, from: tokenSources, scheme: scheme)
        // Tokens from `Authorization` are cached by the text `Bearer TOKEN`, which no other source may contain.
        if case .value(let value, prefix: 0, _) = presented, value.utf8.contains(UInt8(ascii: " ")) {
            return .refused(.tokenInvalid(reason: .token(.malformedToken)))
        }
        return presented
    }

    private func presentedToken(
        of request: HTTPRequest, _ authorization: PresentedToken, from sources: TokenSources, scheme: String
    ) -> PresentedToken {
        var chosen = authorization
        if let name = sources.webSocketProtocol, request.extendedConnectProtocol != nil {
            let tokens = Subprotocols(of: request).tokens(behind: name)
            if let token = tokens.first {
                guard tokens.count == 1, case .none = chosen else { return .refused(Self.repeated) }
                chosen = .value(token, prefix: 0, .webSocketProtocol)
            }
        }
        guard case .none = chosen, let name = sources.cookie else { return chosen }
        let values = CookiePairs(of: request).values(of: name)
        guard values.count < 2 else { return .refused(Self.repeated) }
        // A cookie emptied to end a session counts as missing.
        guard let value = values.first, !value.isEmpty else { return .none }
        guard SameOrigin(request, scheme: scheme, crossOrigin).mayUseCookie else {
            return .refused(Refusal(.accessDenied, reason: .request(.crossSiteRequest)))
        }
        return .value(value, prefix: 0, .cookie)
    }

    private static let repeated = Refusal(.badRequest, reason: .request(.repeatedToken))
}
