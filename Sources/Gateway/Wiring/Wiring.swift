internal import Accounts
internal import Cryptography
internal import HTTPTypes
package import Pipeline
internal import Proxy
package import Settings
internal import SettingsReader
internal import Upstream

/// Builds the parts of a ``ServingPlan`` that need no running service.
package enum Wiring {
    /// Returns the gate. Its routes are the gateway's own endpoints, followed by the configured routes in their order.
    ///
    /// - Throws: ``SettingsErrors`` with every route that is invalid or conflicts with an earlier one.
    package static func gate(_ settings: GatewaySettings, issuers: [Issuer]) throws -> Gate {
        let own = try endpointRoutes(settings)
        let table: RouteTable
        do {
            let configured = try settings.routes.map { (route) throws(RouteError) in try self.route(route, settings) }
            table = try RouteTable(own + configured)
        } catch {
            throw SettingsErrors(errors: routeErrors(settings, own))
        }
        return Gate(
            routes: table,
            verifier: TokenVerifier(issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes),
            cognito: CognitoGuard(
                hostedDomains: settings.directCognito.hostedDomains,
                endpoints: settings.signIn.pools.map(\.endpoint.description)
                    + settings.signIn.pools.compactMap(\.signIn.hosted?.domain)),
            identityNamespace: settings.identity.namespace, identityClaims: settings.identity.claims,
            assertion: settings.identity.assertion?.assertion,
            userAttributes: settings.identity.userAttributes?.rule)
    }

    /// Finds every invalid or conflicting route by adding the routes to a table one by one.
    private static func routeErrors(_ settings: GatewaySettings, _ own: [Route]) -> [SettingsError] {
        var routes = own
        var errors: [SettingsError] = []
        for configured in settings.routes {
            do {
                let route = try route(configured, settings)
                _ = try RouteTable(routes + [route])
                routes.append(route)
            } catch {
                errors.append(configured.place.error(error.message))
            }
        }
        return errors
    }

    private static func route(_ settings: RouteSettings, _ all: GatewaySettings) throws(RouteError) -> Route {
        let upstream = all.upstreams.first { $0.name == settings.upstream }
        return Route(
            name: settings.name, pattern: try RoutePattern(settings.path),
            hosts: settings.hosts?.map(RouteHost.init),
            methods: settings.methods.map { Set($0.compactMap(HTTPRequest.Method.init(rawValue:))) },
            access: settings.access, issuers: settings.issuers.isEmpty ? nil : Set(settings.issuers),
            tokenUses: Set(settings.tokenUses), tokenSources: settings.tokenSources,
            requirements: settings.requirements, destination: .upstream(settings.upstream),
            forwardToken: settings.forwardToken, ignoresCase: upstream?.paths == .caseInsensitive,
            letThrough: (upstream?.forwardHeaders.names ?? []) + settings.forwardHeaders.names,
            treatment: settings.treatment,
            crossOrigin: settings.crossOrigin,
            webSocket: settings.webSocket, networks: settings.networks, rateLimit: settings.rateLimit)
    }

    private static func endpointRoutes(_ settings: GatewaySettings) throws(RouteError) -> [Route] {
        var routes = try accountRoutes(settings)
        routes += try sessionRoutes(settings, first: routes.count)
        if publishesKeys(settings) { routes.append(try GatewayEndpoint.keySetRoute(number: routes.count)) }
        return try routes + metadataRoutes(settings, first: routes.count)
    }

    /// Returns the gateway's own endpoints in the order of their routes.
    static func endpoints(_ settings: GatewaySettings) -> [GatewayEndpoint] {
        let accounts = AccountGroup.settings(settings).enumerated().flatMap { group, pools in
            CognitoAccounts.operations(hasHosted: pools.contains { $0.signIn.hosted != nil })
                .map { GatewayEndpoint.account($0, group: group) }
        }
        let sessions = sessionOperations(settings).map { GatewayEndpoint.session($0) }
        let metadata = hostedGroups(settings).map { GatewayEndpoint.authorizationServer(group: $0.number) }
        return accounts + sessions + (publishesKeys(settings) ? [.keySet] : []) + metadata
    }

    private static func publishesKeys(_ settings: GatewaySettings) -> Bool {
        settings.identity.assertion != nil || settings.issuers.contains { $0.keySource == .own }
    }

    static func upstreamOfRoute(_ gate: Gate, _ upstreams: [UpstreamSettings]) -> [Int?] {
        gate.routes.routes.map { route in
            route.upstream.flatMap { name in upstreams.firstIndex { $0.name == name } }
        }
    }
}

extension TokenRules {
    init(_ settings: GatewaySettings, issuers: [Issuer], gate: Gate) {
        self.init(
            issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes,
            identityNamespace: settings.identity.namespace, identityClaims: settings.identity.claims,
            requirements: gate.requirements, audiences: gate.audiences,
            assertion: settings.identity.assertion?.assertion,
            userAttributes: settings.identity.userAttributes?.rule)
    }
}
