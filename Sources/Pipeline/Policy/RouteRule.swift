package import HTTPTypes

/// A route in the form that the gate uses for each request. A class, so that passing it costs one reference count
/// instead of a copy of all its parts.
package final class RouteRule: Sendable {
    package let name: String
    package let destination: Destination
    /// The changes to requests and responses; nil for none.
    package let treatment: RouteTreatment?
    /// The web pages that may call it; nil leaves that to the backend.
    package let crossOrigin: CrossOrigin?
    /// Whether the fields of a response may differ from the backend's by more than the gateway's own.
    package let changesResponses: Bool
    /// Whether its refusals include `"success": false`.
    package let deniesSuccess: Bool
    /// The settings for requests that become WebSockets; nil if they may not.
    let webSocket: WebSocketPolicy?
    /// The networks from which it may be called; nil for all.
    let networks: RouteNetworks?
    let access: Access
    /// The endpoint that receives expired or revoked tokens; nil if they are refused.
    let endpointOfEndedTokens: Int?
    let acceptance: TokenAcceptance
    /// The sources of its tokens besides `Authorization`; nil for none.
    let tokenSources: TokenSources?
    /// The requirements of a verified token; nil for none.
    let requirement: RouteRequirement?
    /// Whether `Authorization` is forwarded after verification.
    let forwardToken: Bool
    /// The filter of the client's fields. It removes a field that the route sets or removes in every spelling.
    let inbound: InboundFields
    /// The audience of its backend's assertions, with its number among the gate's audiences; nil if there are no
    /// assertions.
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

    /// The trailers of a backend's response for a client that asked for them; nil if none remain.
    package func trailersForClient(_ fields: HTTPFields) -> HTTPFields? {
        TrailerFields.forClient(fields, inbound: inbound, rules: treatment?.responseHeaders)
    }
}
