package import HTTPTypes

/// Whether a route asks for a token.
package enum Access: String, Sendable, Hashable, CaseIterable {
    /// No token is looked at.
    case `public`
    /// A token may be missing, but one that is sent must be valid.
    case optional
    /// A valid token must be sent.
    case required
}

/// Where a route's requests go.
package enum Destination: Sendable, Hashable {
    /// The name of an upstream.
    case upstream(String)
    /// An endpoint of the gateway's own, by a number that its maker knows.
    case endpoint(Int)
}

/// One entry of the route table: which requests it takes, who may make them and where they go.
package struct Route: Sendable, Equatable {
    /// The route's name in logs, metrics and faults; unique in its table.
    package var name: String
    package var pattern: RoutePattern
    /// The hosts that its requests name; nil for any, and for none.
    package var hosts: [RouteHost]?
    /// The methods taken; nil for all but CONNECT and TRACE, which are never routed. GET takes HEAD along.
    package var methods: Set<HTTPRequest.Method>?
    package var access: Access
    /// Whether the endpoint is told of a token that was valid once, and has expired or been revoked since.
    package var admitsEndedTokens: Bool
    /// The configured names of the issuers whose tokens count; nil for all.
    package var issuers: Set<String>?
    package var tokenUses: Set<TokenUse>
    /// Where the token may come from besides `Authorization`; nil for nowhere.
    package var tokenSources: TokenSources?
    /// The requirements of a verified token; nil for none.
    package var requirements: Requirements?
    package var destination: Destination
    /// Whether `Authorization` is passed on after it was verified.
    package var forwardToken: Bool
    /// Whether the backend takes paths that differ in case alone for one.
    package var ignoresCase: Bool
    /// The names of ``TrustedHeader``s that pass all the same.
    package var letThrough: [String]
    /// The changes to requests and responses on their way; nil for none.
    package var treatment: RouteTreatment?
    /// Which web pages may call it; nil leaves that to the backend.
    package var crossOrigin: CrossOrigin?
    /// Whether its requests may become WebSockets, and how those end; nil: they may not.
    package var webSocket: WebSocketPolicy?
    /// From where it may be called; nil for everywhere.
    package var networks: RouteNetworks?
    /// How often; nil for no limit.
    package var rateLimit: RouteRateLimit?
    /// The upstream that some of an endpoint's requests go on to; nil for none.
    package var forwardsTo: String?
    /// Whether its refusals say `"success": false`.
    package var deniesSuccess = false

    package init(
        name: String,
        pattern: RoutePattern,
        hosts: [RouteHost]? = nil,
        methods: Set<HTTPRequest.Method>? = nil,
        access: Access,
        admitsEndedTokens: Bool = false,
        issuers: Set<String>? = nil,
        tokenUses: Set<TokenUse> = [.access],
        tokenSources: TokenSources? = nil,
        requirements: Requirements? = nil,
        destination: Destination,
        forwardToken: Bool = false,
        ignoresCase: Bool = false,
        letThrough: [String] = [],
        treatment: RouteTreatment? = nil,
        crossOrigin: CrossOrigin? = nil,
        webSocket: WebSocketPolicy? = nil,
        networks: RouteNetworks? = nil,
        rateLimit: RouteRateLimit? = nil
    ) {
        self.name = name
        self.pattern = pattern
        self.hosts = hosts
        self.methods = methods
        self.access = access
        self.admitsEndedTokens = admitsEndedTokens
        self.issuers = issuers
        self.tokenUses = tokenUses
        self.tokenSources = tokenSources
        self.requirements = requirements
        self.destination = destination
        self.forwardToken = forwardToken
        self.ignoresCase = ignoresCase
        self.letThrough = letThrough
        self.treatment = treatment
        self.crossOrigin = crossOrigin
        self.webSocket = webSocket
        self.networks = networks
        self.rateLimit = rateLimit
    }
}

extension Route {
    /// Whether it is an endpoint of the gateway's own that is the same for every host.
    var isAtEveryHost: Bool {
        if case .endpoint = destination { hosts == nil } else { false }
    }

    /// The upstream that its requests can go to; nil where none ever do.
    package var upstream: String? {
        switch destination {
        case .upstream(let name): name
        case .endpoint: forwardsTo
        }
    }
}
