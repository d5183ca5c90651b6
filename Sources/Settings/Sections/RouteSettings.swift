package import Pipeline
package import SettingsReader

/// A route: the requests that it matches, their upstream, and the tokens that they need.
package struct RouteSettings: Sendable {
    /// Unique; the route's label in logs and metrics.
    package var name: String
    /// A path pattern: exact, with `*` for any one segment, with `{sub}` for a segment that equals the token's subject,
    /// or ending in `/**`.
    package var path: String
    /// Names, `*.example.com` or IP addresses, in lower case; nil for any.
    package var hosts: [String]?
    /// Upper case; nil for every method.
    package var methods: [String]?
    package var access: Access
    /// Names of the issuers whose tokens are accepted; empty on a public route, else at least one.
    package var issuers: [String]
    /// Empty on a public route, else at least one.
    package var tokenUses: [TokenUse]
    /// The sources of the token besides `Authorization`; nil: none.
    package var tokenSources: TokenSources?
    /// The requirements of a verified token; nil for none.
    package var requirements: Requirements?
    /// The upstream's name.
    package var upstream: String
    /// Whether a verified `Authorization` header is forwarded.
    package var forwardToken: Bool
    /// The client headers that are forwarded, besides those of the upstream.
    package var forwardHeaders: ForwardHeaderSettings
    package var timeouts: RouteTimeoutSettings
    /// Nil: requests are accepted from everywhere.
    package var networks: RouteNetworks?
    /// Nil: the rate is unlimited.
    package var rateLimit: RouteRateLimit?
    /// Nil if nothing is changed.
    package var treatment: RouteTreatment?
    package var crossOrigin: CrossOrigin?
    /// Nil: requests are not upgraded to WebSockets.
    package var webSocket: WebSocketPolicy?
    package var place: SettingsPlace
}

extension RouteSettings {
    /// The label in metrics for requests without a route.
    private static let nameOfNone = "none"

    static func all(of file: SettingsMapping, known: KnownNames, identity: IdentitySettings) -> [RouteSettings] {
        guard let node = file.required("routes"), let elements = node.elements(expected: "routes") else { return [] }
        if elements.isEmpty { node.error("must hold at least one route") }
        var routes: [(route: RouteSettings, node: SettingsNode, isNamed: Bool)] = []
        for element in elements {
            let read = element.section { keys in
                Self(reading: keys, known: known, identity: identity).map { ($0, keys.has("name")) }
            }
            if let found = read.flatMap({ $0 }) { routes.append((found.0, element, found.1)) }
        }
        return named(routes)
    }

    private init?(reading keys: SettingsMapping, known: KnownNames, identity: IdentitySettings) {
        let name = keys.value("name", .text)
        if name == Self.nameOfNone {
            keys.error("name", "\"none\" is what metrics call requests that no route takes: choose another name")
        }
        let path = keys.required("path", .routePath)
        let hosts = Self.hosts(of: keys)
        let methods = keys.list("methods", .method, of: "methods")
        if keys.isEmptyList("methods") {
            keys.error("methods", "must name at least one method (leave the key out for all)")
        }
        let access = keys.value("access", .oneOf, default: Access.required)
        let issuers = Self.issuers(of: keys, access: access, known: known)
        let tokenUses = Self.tokenUses(of: keys, access: access, issuers: issuers.compactMap(known.issuer(named:)))
        let requirements = Requirements.of(keys, access: access)
        if path?.contains("{sub}") == true, access != .required {
            keys.error("path", "\"{sub}\" is the subject of a token, which access \(access.rawValue) does not ask for")
        }
        let upstream = keys.required("upstream", .reference(to: "upstream", among: known.upstreams))
        let forwardToken = keys.value("forward_token", .boolean, default: false)
        let forwardHeaders = ForwardHeaderSettings(reading: keys)
        forwardHeaders.check(identity, keys.node.context)
        let treatment = RouteTreatmentSettings(reading: keys, path: path, identity: identity)
        if let name = forwardHeaders.names.first(where: treatment.requestHeaders.sets) {
            keys.error("forward_headers", "\(name) is among request_headers, which take the client's away")
        }
        let crossOrigin = keys.optional("cors")?.section(CrossOrigin.init(reading:)) ?? nil
        let crossing = treatment.responseHeaders.names.first { $0.lowercased().hasPrefix("access-control-") }
        if let crossing, keys.has("cors") {
            keys.error("response_headers", "must not name \(crossing): on a route with cors that is the gateway's own")
        }
        let webSocket = WebSocketPolicy.of(keys, access: access, methods: methods)
        let tokenSources = TokenSources.of(keys, access: access, hasWebSocket: webSocket != nil)
        let networks = RouteNetworks.of(keys)
        let rateLimit = RouteRateLimit.of(keys, access: access)
        guard let path, let upstream else { return nil }
        self.init(
            name: name ?? Self.title(hosts, path), path: path, hosts: hosts, methods: methods, access: access,
            issuers: issuers, tokenUses: tokenUses, tokenSources: tokenSources, requirements: requirements,
            upstream: upstream,
            forwardToken: forwardToken, forwardHeaders: forwardHeaders, timeouts: treatment.timeouts,
            networks: networks, rateLimit: rateLimit,
            treatment: treatment.treatment, crossOrigin: crossOrigin, webSocket: webSocket, place: keys.node.place)
    }

    private static func hosts(of keys: SettingsMapping) -> [String]? {
        if keys.isEmptyList("hosts") { keys.error("hosts", "must name at least one host (leave the key out for any)") }
        let hosts = keys.list("hosts", .serverName, of: "host names")
        // A host may be written in two ways.
        return hosts.map { $0.reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
    }

    /// The name of a route without an explicit one.
    private static func title(_ hosts: [String]?, _ path: String) -> String {
        (hosts ?? []).joined(separator: ",") + path
    }

    private static func issuers(of keys: SettingsMapping, access: Access, known: KnownNames) -> [String] {
        let reference = ScalarFormat.reference(to: "issuer", among: known.issuers)
        let named = keys.list("issuers", reference, of: "issuers")
        if access == .public {
            if named != nil { keys.error("issuers", "has no effect on a public route") }
            return []
        }
        if keys.isEmptyList("issuers") { keys.error("issuers", "must name at least one issuer") }
        let usual = known.issuers.filter { known.issuer(named: $0)?.mustBeNamed != true }
        if named == nil, usual.isEmpty {
            keys.node.error(
                known.issuers.isEmpty
                    ? "needs an issuer, since access is \(access.rawValue), but issuers names none"
                    : "must name its issuers: ID tokens give access only where a route says so")
        }
        let accepted = named ?? usual
        refuseNamesakes(among: accepted.compactMap(known.issuer(named:)), keys)
        return accepted
    }

    /// Refuses issuers with the same `iss`. A token's `iss` selects the rules for it, so it must be unambiguous.
    private static func refuseNamesakes(among issuers: [IssuerSettings], _ keys: SettingsMapping) {
        for (index, issuer) in issuers.enumerated() {
            guard let other = issuers[..<index].first(where: { $0.issuer == issuer.issuer }) else { continue }
            keys.node.error(
                "accepts issuers.\(other.name) and issuers.\(issuer.name), whose issuer is the same: name one")
        }
    }

    private static func tokenUses(
        of keys: SettingsMapping, access: Access, issuers: [IssuerSettings]
    ) -> [TokenUse] {
        let named = keys.list("token_uses", ScalarFormat<TokenUse>.oneOf, of: "token uses")
        if access == .public {
            if named != nil { keys.error("token_uses", "has no effect on a public route") }
            return []
        }
        if keys.isEmptyList("token_uses") { keys.error("token_uses", "must name at least one") }
        let accepted = TokenUse.allCases.filter { use in issuers.contains { $0.tokenUses.contains(use) } }
        for use in named ?? [] where !issuers.isEmpty && !accepted.contains(use) {
            keys.error("token_uses", "none of the route's issuers accepts \"\(use.rawValue)\" tokens")
        }
        return named ?? accepted
    }

    /// Checks that no two routes match the same requests and that names are unique. A route without a name gets its
    /// hosts and path as the name, followed by its methods if another route has the same hosts and path.
    private static func named(
        _ routes: [(route: RouteSettings, node: SettingsNode, isNamed: Bool)]
    ) -> [RouteSettings] {
        var result: [RouteSettings] = []
        for (route, node, isNamed) in routes {
            var route = route
            if let other = result.first(where: { $0.isSame(as: route) }) {
                node.error("another route, \"\(other.name)\", has the same path and methods")
            } else if !isNamed, let methods = route.methods, routes.count(where: { $0.route.title == route.title }) > 1
            {
                route.name = "\(methods.joined(separator: ",")) \(route.title)"
            }
            if isNamed, result.contains(where: { $0.name == route.name }) {
                node.error("another route is called \"\(route.name)\"")
            }
            result.append(route)
        }
        return result
    }

    private var title: String { Self.title(hosts, path) }

    private func isSame(as other: RouteSettings) -> Bool {
        path == other.path && sharesHost(with: other) && sharesMethod(with: other)
    }

    private func sharesHost(with other: RouteSettings) -> Bool {
        guard let hosts, let others = other.hosts else { return hosts == nil && other.hosts == nil }
        return hosts.contains(where: others.contains)
    }

    private func sharesMethod(with other: RouteSettings) -> Bool {
        guard let methods, let others = other.methods else { return methods == nil && other.methods == nil }
        return methods.contains(where: others.contains)
    }
}

extension ScalarFormat where Value == String {
    /// A method name of RFC 9110, section 9.3, or RFC 5789. `CONNECT` is never forwarded.
    static var method: Self {
        .word(among: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
    }
}
