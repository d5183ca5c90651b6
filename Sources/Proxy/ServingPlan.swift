package import Accounts
internal import Cryptography
internal import HTTPTypes
package import Keys
package import Logging
internal import NIOCore
package import Pipeline
package import Sessions
package import Telemetry
package import Upstream

/// The plan that all event loops serve by: everything that requests take, and nothing else. A value: a reload makes
/// another one.
package struct ServingPlan: Sendable {
    package var gate: Gate
    /// For each route the position of its upstream, nil where the gateway answers itself.
    var upstreamOfRoute: [Int?]
    package var upstreams: [ServedUpstream]
    /// For each route its own time-outs, nil where the upstream's hold.
    package var timeoutsOfRoute: [UpstreamTimeouts?]
    /// For each route what counts its requests, nil where there is no limit. Nil where no route has one.
    package var rateLimiters: [RateLimiter?]?
    /// The gateway's own endpoints, by number.
    var endpoints: [GatewayEndpoint]
    /// By the number that account endpoints name.
    package var accounts: [AccountGroup]
    /// Nil where nobody signs in with Apple here.
    package var sessions: SessionEndpoints?
    /// The prefix of their paths, with the slash at the end.
    var sessionPrefix: String?
    /// In the verifier's order.
    package var keyServices: [KeySetService]
    /// Nil where no attributes of users are read.
    package var userAttributes: UserAttributeService?
    var directCognito: DirectCognitoAnswer
    /// Nil where direct calls are not carried out.
    var directCalls: DirectCognitoCalls?
    package let directApplications: ApplicationTally
    /// Records direct calls that are refused. Nil where no tokens are taken.
    package var audit: AuditTrail?
    /// Nil where nobody's word for the client's address is believed but the connection's.
    var trustedProxies: TrustedProxies?
    /// Nil where backends get no assertions.
    package var assertionKeys: AssertionKeyService?
    /// Nil where the gateway has no sessions of its own.
    package var sessionKeys: SessionKeyService?
    /// Nil where no tokens are taken.
    package var revocations: RevocationService?
    /// Nil while it is switched off.
    var accessLog: AccessLog?
    /// Nil where every request is logged.
    var accessSampler: AccessSampler?
    /// Nil where no spans are made.
    package var tracing: TraceService?
    /// The same in all plans of a process. Nil where it has only one event loop.
    let signatures: VerifiedSignatures?
    /// The same in all plans of a process.
    let drainedServers: DrainedServers
    /// The same in all plans of a process.
    let recent: RecentEvents
    var tokenRules: TokenRules
    /// How many requests may be in flight, and what counts them: the same in all plans of a process.
    var requestLimit: Int
    /// How many of one client's address.
    var addressLimit: Int
    package let requestsInFlight: RequestsInFlight
    /// The same in all plans of a process.
    let callsUnderWay: CallsUnderWay
    let logger: Logger

    package init(
        gate: Gate, upstreamOfRoute: [Int?], upstreams: [ServedUpstream], timeoutsOfRoute: [UpstreamTimeouts?],
        rateLimiters: [RateLimiter?]? = nil,
        endpoints: [GatewayEndpoint], accounts: [AccountGroup], sessions: SessionEndpoints? = nil,
        sessionPrefix: String? = nil, keyServices: [KeySetService],
        userAttributes: UserAttributeService? = nil, directCognito: DirectCognitoAnswer,
        directCalls: DirectCognitoCalls? = nil, directApplications: ApplicationTally, audit: AuditTrail? = nil,
        trustedProxies: TrustedProxies? = nil, assertionKeys: AssertionKeyService? = nil,
        sessionKeys: SessionKeyService? = nil, revocations: RevocationService? = nil, accessLog: AccessLog? = nil,
        accessSampler: AccessSampler? = nil, tracing: TraceService? = nil, signatures: VerifiedSignatures? = nil,
        drainedServers: DrainedServers,
        recent: RecentEvents, tokenRules: TokenRules, requestLimit: Int, addressLimit: Int,
        requestsInFlight: RequestsInFlight, callsUnderWay: CallsUnderWay, logger: Logger
    ) {
        self.gate = gate
        self.upstreamOfRoute = upstreamOfRoute
        self.upstreams = upstreams
        self.timeoutsOfRoute = timeoutsOfRoute
        self.rateLimiters = rateLimiters
        self.endpoints = endpoints
        self.accounts = accounts
        self.sessions = sessions
        self.sessionPrefix = sessionPrefix
        self.keyServices = keyServices
        self.userAttributes = userAttributes
        self.directCognito = directCognito
        self.directCalls = directCalls
        self.directApplications = directApplications
        self.audit = audit
        self.trustedProxies = trustedProxies
        self.assertionKeys = assertionKeys
        self.sessionKeys = sessionKeys
        self.revocations = revocations
        self.accessLog = accessLog
        self.accessSampler = accessSampler
        self.tracing = tracing
        self.signatures = signatures
        self.drainedServers = drainedServers
        self.recent = recent
        self.tokenRules = tokenRules
        self.requestLimit = requestLimit
        self.addressLimit = addressLimit
        self.requestsInFlight = requestsInFlight
        self.callsUnderWay = callsUnderWay
        self.logger = logger
    }

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

/// The rules that a token's cache entry depends on, beside its issuer's keys.
package struct TokenRules: Sendable, Equatable {
    package var issuers: [Issuer]
    package var maximumTokenBytes: Int
    package var identityNamespace: String
    package var identityClaims: [IdentityClaim]
    /// By the numbers that entries remember.
    package var requirements: [Requirements]
    package var audiences: [String]
    package var assertion: Assertion?
    package var userAttributes: UserAttributeRule?

    package init(
        issuers: [Issuer], maximumTokenBytes: Int, identityNamespace: String, identityClaims: [IdentityClaim],
        requirements: [Requirements], audiences: [String], assertion: Assertion?,
        userAttributes: UserAttributeRule? = nil
    ) {
        self.issuers = issuers
        self.maximumTokenBytes = maximumTokenBytes
        self.identityNamespace = identityNamespace
        self.identityClaims = identityClaims
        self.requirements = requirements
        self.audiences = audiences
        self.assertion = assertion
        self.userAttributes = userAttributes
    }
}
