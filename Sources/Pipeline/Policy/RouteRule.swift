package import HTTPTypes

/// The gate's view of a route at each request. A class, so that it costs one reference count and not a copy of all its
/// parts.
package final class RouteRule: Sendable {
    package let name: String
    package let destination: Destination
    /// The changes to requests and responses on their way; nil for none.
    package let treatment: RouteTreatment?
    /// Which web pages may call it; nil leaves that to the backend.
    package let crossOrigin: CrossOrigin?
    /// Whether a response's fields may differ from the backend's by more than the gateway's own.
    package let changesResponses: Bool
    /// Whether its refusals say `"success": false`.
    package let deniesSuccess: Bool
    /// Whether its requests may become WebSockets; nil: they may not.
    let webSocket: WebSocketPolicy?
    /// From where it may be called; nil for everywhere.
    let networks: RouteNetworks?
    let access: Access
    /// The endpoint that learns of tokens that count no more; nil where they are refused.
    let endpointOfEndedTokens: Int?
    let acceptance: TokenAcceptance
    /// Where its tokens may come from besides `Authorization`; nil for nowhere.
    let tokenSources: TokenSources?
    /// The requirements of a verified token; nil for none.
    let requirement: RouteRequirement?
    /// Whether `Authorization` is passed on after it was verified.
    let forwardToken: Bool
    /// A field that the route sets or removes is removed in every spelling.
    let inbound: InboundFields
    /// Whom its backend's assertions are for, and the number of that among the gate's; nil where there are none.
    let audience: (number: Int, text: String)?

    /// - Parameter identityHeaders: names of headers that the gateway sets, inside the namespace or not.
    init(
        _ route: Route, identityNamespace: String, identityHeaders: [String], numbers: inout RequirementNumbers,
        audience: (number: Int, text: String)? = nil
    ) {
        name = route.name
        destination = route.destination
        treatment = route.treatment
        crossOrigin = route.crossOrigin.map { policy in
            var policy = policy
            policy.methods = policy.methods ?? route.methods
            return policy
        }
        changesResponses = route.crossOrigin != nil || route.treatment?.changesResponses == true
        deniesSuccess = route.deniesSuccess
        webSocket = route.webSocket
        networks = route.networks
        access = route.access
        endpointOfEndedTokens =
            if route.admitsEndedTokens, case .endpoint(let number) = route.destination { number } else { nil }
        acceptance = TokenAcceptance(issuers: route.issuers, tokenUses: route.tokenUses)
        tokenSources = route.tokenSources
        requirement = RouteRequirement(route, numbers: &numbers)
        forwardToken = route.forwardToken
        self.audience = audience
        inbound = InboundFields(
            namespace: identityNamespace,
            alsoSet: identityHeaders + (route.treatment?.requestHeaders.removed ?? []),
            letThrough: route.letThrough)
    }

    /// A backend's trailers as a client that asked for them gets them; nil where nothing is left.
    package func trailersForClient(_ fields: HTTPFields) -> HTTPFields? {
        TrailerFields.forClient(fields, inbound: inbound, rules: treatment?.responseHeaders)
    }
}
