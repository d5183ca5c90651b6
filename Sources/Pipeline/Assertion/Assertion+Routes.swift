internal import Encoding

extension Assertion {
    /// All audiences of some routes' upstreams, each once.
    func audiences(of routes: [Route]) -> [String] {
        var audiences: [String] = []
        for route in routes {
            guard let name = route.upstream else { continue }
            let audience = audience(of: name)
            if !audiences.contains(where: { $0.hasSameBytes(as: audience) }) { audiences.append(audience) }
        }
        return audiences
    }

    /// The audience of a route; nil for one that the gateway answers itself.
    func audience(of route: Route, among audiences: [String]) -> (number: Int, text: String)? {
        guard let name = route.upstream else { return nil }
        let text = audience(of: name)
        return audiences.firstIndex { $0.hasSameBytes(as: text) }.map { ($0, text) }
    }

    /// As ``line(for:_:_:)`` for a token that is not kept.
    func line(for token: VerifiedToken, _ rule: RouteRule, _ context: RequestContext) -> [UInt8]? {
        guard let audience = rule.audience, let key = context.assertionKey else { return nil }
        var assertions = IssuedAssertions()
        return try? assertions.line(for: audience, of: token, self, key: key, now: context.now)
    }

    /// The header line of a verified token's assertion for a route's backend, ended by CR LF; nil when it cannot be
    /// signed, so that the request is not sent on without it.
    func line(for entry: TokenCache.Entry, _ rule: RouteRule, _ context: RequestContext) -> [UInt8]? {
        guard let audience = rule.audience, let key = context.assertionKey else { return nil }
        // A failure of OpenSSL's says nothing that could be mended here.
        return try? entry.assertions.line(for: audience, of: entry.token, self, key: key, now: context.now)
    }
}
