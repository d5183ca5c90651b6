package import HTTPTypes

/// Whether a route requires a token.
package enum Access: String, Sendable, Hashable, CaseIterable {
    /// Tokens are ignored.
    case `public`
    /// A token may be missing, but must be valid if it is sent.
    case optional
    /// A valid token must be sent.
    case required
}

/// The destination of a route's requests.
package enum Destination: Sendable, Hashable {
    /// The name of an upstream.
    case upstream(String)
    /// An endpoint of the gateway itself, by a number that the endpoint's creator assigns.
    case endpoint(Int)
}

/// One entry of the route table: the requests that it takes, their authorised callers and their destination.
package struct Route: Sendable, Equatable {
    /// The route's name in logs, metrics and errors; unique in its table.
    package var name: String
    package var pattern: RoutePattern
    /// The hosts of its requests; nil for any host and for none.
    package var hosts: [RouteHost]?
    /// The methods taken; nil for all but CONNECT and TRACE, which are never routed. GET includes HEAD.
    package var methods: Set<HTTPRequest.Method>?
    package var access: Access
    /// Whether the endpoint receives requests with a token that has expired or been revoked.
    package var admitsEndedTokens: Bool
    /// The configured names of the accepted issuers; nil for all.
    package var issuers: Set<String>?
    package var tokenUses: Set<TokenUse>
    /// The sources of the token besides `Authorization`; nil for none.
    package var tokenSources: TokenSources?
    /// The requirements of a verified token; nil for none.
    package var requirements: Requirements?
    package var destination: Destination
    /// Whether `Authorization` is forwarded after verification.
    package var forwardToken: Bool
    /// Whether the backend treats paths that differ only in case as the same.
    package var ignoresCase: Bool
    /// The names of ``TrustedHeader``s that pass nevertheless.
    package var letThrough: [String]
    /// The changes to requests and responses; nil for none.
    package var treatment: RouteTreatment?
    /// The web pages that may call it; nil leaves that to the backend.
    package var crossOrigin: CrossOrigin?
    /// The settings for requests that become WebSockets, and for the end of those; nil if they may not.
    package var webSocket: WebSocketPolicy?
    /// The networks from which it may be called; nil for all.
    package var networks: RouteNetworks?
    /// The rate limit; nil for none.
    package var rateLimit: RouteRateLimit?
    /// The upstream to which an endpoint forwards some of its requests; nil for none.
    package var forwardsTo: String?
    /// Whether its refusals include `"success": false`.
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
    /// Whether it is an endpoint of the gateway that all hosts share.
    var isAtEveryHost: Bool {
        if case .endpoint = destination { hosts == nil } else { false }
    }

    /// The upstream to which its requests can be forwarded; nil if they never are.
    package var upstream: String? {
        switch destination {
        case .upstream(let name): name
        case .endpoint: forwardsTo
        }
    }
}
