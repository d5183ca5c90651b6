internal import Encoding

extension Assertion {
    /// The audiences of the routes' upstreams, without duplicates.
    func audiences(of routes: [Route]) -> [String] {
        var audiences: [String] = []
        for route in routes {
            guard let name = route.upstream else { continue }
            let audience = audience(of: name)
            if !audiences.contains(where: { $0.hasSameBytes(as: audience) }) { audiences.append(audience) }
        }
        return audiences
    }

    /// The audience of a route's upstream and its index in `audiences`; nil if the gateway answers the route itself.
    func audience(of route: Route, among audiences: [String]) -> (number: Int, text: String)? {
        guard let name = route.upstream else { return nil }
        let text = audience(of: name)
        return audiences.firstIndex { $0.hasSameBytes(as: text) }.map { ($0, text) }
    }

    /// As ``line(for:_:_:)`` for a token that is not cached.
    func line(for token: VerifiedToken, _ rule: RouteRule, _ context: RequestContext) -> [UInt8]? {
        guard let audience = rule.audience, let key = context.assertionKey else { return nil }
        var assertions = IssuedAssertions()
        return try? assertions.line(for: audience, of: token, self, key: key, now: context.now)
    }

    /// The header line with a verified token's assertion for a route's backend, ended by CR LF. Nil if it cannot be
    /// signed; the request must then not be forwarded without it.
    func line(for entry: TokenCache.Entry, _ rule: RouteRule, _ context: RequestContext) -> [UInt8]? {
        guard let audience = rule.audience, let key = context.assertionKey else { return nil }
        // The details of an OpenSSL error are of no use to the caller.
        return try? entry.assertions.line(for: audience, of: entry.token, self, key: key, now: context.now)
    }
}
