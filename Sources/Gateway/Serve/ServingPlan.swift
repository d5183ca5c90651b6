internal import Cryptography
internal import HTTPTypes
internal import Logging
internal import NIOCore
internal import Pipeline
internal import Settings
internal import SignIn
internal import Telemetry
internal import Upstream

/// The plan that all event loops serve by. A value: a reload makes another one.
struct ServingPlan: Sendable {
    var gate: Gate
    /// For each route the position of its upstream, nil where the gateway answers itself.
    var upstreamOfRoute: [Int?]
    var upstreams: [ServedUpstream]
    /// For each route its own time-outs, nil where the upstream's hold.
    var timeoutsOfRoute: [UpstreamTimeouts?]
    /// The gateway's own endpoints, by number.
    var endpoints: [GatewayEndpoint]
    /// By the number that account endpoints name.
    var accounts: [AccountGroup]
    /// Nil where nobody signs in with Apple here.
    var sessions: SessionEndpoints?
    /// The prefix of their paths, with the slash at the end.
    var sessionPrefix: String?
    /// In the verifier's order.
    var keyServices: [KeySetService]
    var directCognito: DirectCognitoAnswer
    /// Nil where direct calls are not carried out.
    var directCalls: DirectCognitoCalls?
    let directApplications: ApplicationTally
    /// Nil where no tokens are taken.
    var audit: AuditTrail?
    /// Nil where nobody's word for the client's address is believed but the connection's.
    var trustedProxies: TrustedProxies?
    /// Nil where backends get no assertions.
    var assertionKeys: AssertionKeyService?
    /// Nil where the gateway has no sessions of its own.
    var sessionKeys: SessionKeyService?
    /// Nil where no tokens are taken.
    var revocations: RevocationService?
    /// Nil while it is switched off.
    var accessLog: AccessLog?
    /// Nil where every request is logged.
    var accessSampler: AccessSampler?
    /// Nil where no spans are made.
    var tracing: TraceService?
    /// The same in all plans of a process.
    let drainedServers: DrainedServers
    /// The same in all plans of a process.
    let recent: RecentEvents
    var tokenRules: TokenRules
    /// How many requests may be in flight, and what counts them: the same in all plans of a process.
    var requestLimit: Int
    /// How many of one client's address.
    var addressLimit: Int
    let requestsInFlight: RequestsInFlight
    let logger: Logger

    /// The keys of assertions and of sessions that are published now; nil where there are none.
    var ownKeySet: [UInt8]? {
        let keys = [assertionKeys?.current, sessionKeys?.keys.current].compactMap { $0 }
        return keys.isEmpty ? nil : AssertionKeys.document(of: keys.flatMap(\.publicKeys))
    }

    /// Where an upstream's servers begin among those of all, as metrics number them.
    func firstServer(of upstream: Int) -> Int {
        upstreams[..<upstream].reduce(0) { $0 + $1.settings.servers.count }
    }
}

/// An upstream for as long as its settings stay as they are: through reloads that leave them alone it keeps its pools.
struct ServedUpstream: Sendable {
    /// No two of a process share it.
    let number: UInt64
    let settings: Upstream.UpstreamSettings
    /// The servers that health checks had found unwell already when it was made.
    let knownUnhealthy: [Int]
}

/// The rules that a token's cache entry depends on, beside its issuer's keys.
struct TokenRules: Sendable, Equatable {
    var issuers: [Issuer]
    var maximumTokenBytes: Int
    var identityNamespace: String
    var identityClaims: [IdentityClaim]
    /// By the numbers that entries remember.
    var requirements: [Requirements]
    var audiences: [String]
    var assertion: Assertion?

    init(_ settings: GatewaySettings, issuers: [Issuer], gate: Gate) {
        self.issuers = issuers
        requirements = gate.requirements
        audiences = gate.audiences
        assertion = settings.identity.assertion?.assertion
        maximumTokenBytes = settings.limits.tokenBytes
        identityNamespace = settings.identity.namespace
        identityClaims = settings.identity.claims
    }
}

/// Why a gateway with good settings cannot start.
package struct WiringFault: Error, CustomStringConvertible {
    package let description: String
    /// The error of the state directory itself; nil for other errors.
    var ofStateDirectory: KeyFileFault?

    package init(description: String) { self.description = description }

    init(ofStateDirectory fault: KeyFileFault) {
        description = "state_directory: \(fault)"
        ofStateDirectory = fault
    }
}

/// Builds the parts of a ``ServingPlan`` that need no running service.
enum Wiring {
    /// The gateway's own endpoints first, then the configured routes in their order.
    ///
    /// - Throws: ``SettingsFaults`` with every route that clashes with one before it.
    static func gate(_ settings: GatewaySettings, issuers: [Issuer]) throws -> Gate {
        let own = try endpointRoutes(settings)
        let table: RouteTable
        do {
            let configured = try settings.routes.map { (route) throws(RouteFault) in try self.route(route, settings) }
            table = try RouteTable(own + configured)
        } catch {
            throw SettingsFaults(faults: routeFaults(settings, own))
        }
        return Gate(
            routes: table,
            verifier: TokenVerifier(issuers: issuers, maximumTokenBytes: settings.limits.tokenBytes),
            cognito: CognitoGuard(
                hostedDomains: settings.directCognito.hostedDomains,
                endpoints: settings.signIn.pools.map(\.endpoint.description)),
            identityNamespace: settings.identity.namespace, identityClaims: settings.identity.claims,
            assertion: settings.identity.assertion?.assertion)
    }

    /// Finds each route that cannot be, by a table for each of them.
    private static func routeFaults(_ settings: GatewaySettings, _ own: [Route]) -> [SettingsFault] {
        var routes = own
        var faults: [SettingsFault] = []
        for configured in settings.routes {
            do {
                let route = try route(configured, settings)
                _ = try RouteTable(routes + [route])
                routes.append(route)
            } catch {
                faults.append(configured.place.fault(error.message))
            }
        }
        return faults
    }

    private static func route(_ settings: RouteSettings, _ all: GatewaySettings) throws(RouteFault) -> Route {
        let upstream = all.upstreams.first { $0.name == settings.upstream }
        return Route(
            name: settings.name, pattern: try RoutePattern(settings.path),
            methods: settings.methods.map { Set($0.compactMap(HTTPRequest.Method.init(rawValue:))) },
            access: settings.access.access, issuers: settings.issuers.isEmpty ? nil : Set(settings.issuers),
            tokenUses: Set(settings.tokenUses.map(\.tokenUse)), tokenSources: settings.tokenSources,
            requirements: settings.requirements, destination: .upstream(settings.upstream),
            forwardToken: settings.forwardToken, ignoresCase: upstream?.paths == .caseInsensitive,
            letThrough: (upstream?.forwardHeaders.names ?? []) + settings.forwardHeaders.names,
            treatment: treatment(settings.treatment),
            crossOrigin: settings.crossOrigin.map { CrossOrigin($0, routeMethods: settings.methods) },
            webSocket: settings.webSocket.map {
                WebSocketPolicy(closesOnExpiry: $0.closeOnExpiry, idleTimeout: $0.idleTimeout)
            })
    }

    private static func endpointRoutes(_ settings: GatewaySettings) throws(RouteFault) -> [Route] {
        var routes = try accountRoutes(settings)
        routes += try sessionRoutes(settings, first: routes.count)
        if publishesKeys(settings) { routes.append(try GatewayEndpoint.keySetRoute(number: routes.count)) }
        return routes
    }

    /// In the order of their routes.
    static func endpoints(_ settings: GatewaySettings) -> [GatewayEndpoint] {
        let accounts = AccountGroup.settings(settings).indices.flatMap { group in
            AccountOperation.allCases.map { GatewayEndpoint.account($0, group: group) }
        }
        let sessions = sessionOperations(settings).map { GatewayEndpoint.session($0) }
        return accounts + sessions + (publishesKeys(settings) ? [.keySet] : [])
    }

    private static func publishesKeys(_ settings: GatewaySettings) -> Bool {
        settings.identity.assertion != nil || settings.issuers.contains { $0.keySource == .own }
    }

    static func upstreamOfRoute(_ gate: Gate, _ upstreams: [Upstream.UpstreamSettings]) -> [Int?] {
        gate.routes.routes.map { route in
            route.upstream.flatMap { name in upstreams.firstIndex { $0.name == name } }
        }
    }

    /// When the keys of assertions change; nil where there are none.
    static func rotationSchedule(_ settings: GatewaySettings) -> RotationSchedule? {
        settings.identity.assertion.map { assertion in
            let ahead = assertion.publishAhead.components.seconds
            // Long enough that no clock and no process that has yet to hear of a rotation makes a difference.
            return RotationSchedule(
                rotateEvery: assertion.rotateEvery.components.seconds, publishAhead: ahead,
                keepPrevious: max(86_400, ahead))
        }
    }
}

extension AccessSetting {
    fileprivate var access: Access {
        switch self {
        case .public: .public
        case .optional: .optional
        case .required: .required
        }
    }
}

extension CrossOrigin {
    /// - Parameter routeMethods: what a page may use unless the section says otherwise; nil for all that are routed.
    init(_ settings: CrossOriginSettings, routeMethods: [String]?) {
        let usual = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
        self.init(
            origins: settings.origins.map { .listed(Set($0)) } ?? .any,
            methods: Set((settings.methods ?? routeMethods ?? usual).compactMap(HTTPRequest.Method.init(rawValue:))),
            headers: Set(settings.headers), exposedHeaders: settings.exposedHeaders,
            credentials: settings.credentials, maximumAge: settings.maximumAge.components.seconds)
    }
}
