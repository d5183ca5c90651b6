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

/// The plan according to which all event loops serve: everything that requests need, and nothing else. It is a value,
/// and a reload creates a new one.
package struct ServingPlan: Sendable {
    package var gate: Gate
    /// For each route, the index of its upstream; nil if the gateway responds itself.
    var upstreamOfRoute: [Int?]
    package var upstreams: [ServedUpstream]
    /// For each route, its own timeouts; nil if those of the upstream apply.
    package var timeoutsOfRoute: [UpstreamTimeouts?]
    /// For each route, its rate limiter; nil if it has no limit. Nil as a whole if no route has a limit.
    package var rateLimiters: [RateLimiter?]?
    /// The gateway's own endpoints, by number.
    var endpoints: [GatewayEndpoint]
    /// Indexed by the group number of account endpoints.
    package var accounts: [AccountGroup]
    /// Nil if there are no session endpoints.
    package var sessions: SessionEndpoints?
    /// The path prefix of the session endpoints, with the trailing slash.
    var sessionPrefix: String?
    /// One element for each issuer, in the verifier's order.
    package var keyServices: [KeySetService]
    /// Nil if no user attributes are read.
    package var userAttributes: UserAttributeService?
    var directCognito: DirectCognitoAnswer
    /// Nil if direct calls are not carried out.
    var directCalls: DirectCognitoCalls?
    package let directApplications: ApplicationTally
    /// The audit trail of refused direct calls. Nil if there is no store.
    package var audit: AuditTrail?
    /// Nil if no proxy is trusted to report the client's address; the connection's peer counts as the client.
    var trustedProxies: TrustedProxies?
    /// Nil if backends receive no assertions.
    package var assertionKeys: AssertionKeyService?
    /// Nil if the gateway has no sessions of its own.
    package var sessionKeys: SessionKeyService?
    /// Nil if there is no store.
    package var revocations: RevocationService?
    /// Nil if the access log is off.
    var accessLog: AccessLog?
    /// Nil if every request is logged.
    var accessSampler: AccessSampler?
    /// Nil if tracing is off.
    package var tracing: TraceService?
    /// The same in all plans of a process. Nil if the process has only one event loop.
    let signatures: VerifiedSignatures?
    /// The same in all plans of a process.
    let drainedServers: DrainedServers
    /// The same in all plans of a process.
    let recent: RecentEvents
    var tokenRules: TokenRules
    /// The maximum number of requests in flight. Its counter, `requestsInFlight`, is the same in all plans of a
    /// process.
    var requestLimit: Int
    /// The maximum number of requests in flight for one client's address.
    var addressLimit: Int
    package let requestsInFlight: RequestsInFlight
    /// The same in all plans of a process.
    let callsUnderWay: CallsInFlight
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
        requestsInFlight: RequestsInFlight, callsUnderWay: CallsInFlight, logger: Logger
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

    /// The published keys of assertions and sessions as a JSON Web Key Set; nil if there are none.
    var ownKeySet: [UInt8]? {
        let keys = [assertionKeys?.current, sessionKeys?.keys.current].compactMap { $0 }
        return keys.isEmpty ? nil : AssertionKeys.document(of: keys.flatMap(\.publicKeys))
    }

    /// The metrics index of an upstream's first server. The servers of all upstreams are numbered consecutively.
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
    /// Indexed by the requirement numbers in cache entries.
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
