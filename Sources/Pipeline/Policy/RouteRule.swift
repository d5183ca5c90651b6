package import HTTPTypes

/// What the gate needs to know of a route at each request. A class, so that it costs one reference count and not a copy
/// of all its parts.
package final class RouteRule: Sendable {
    package let name: String
    package let destination: Destination
    /// What is changed on the way; nil for nothing.
    package let treatment: RouteTreatment?
    /// Which web pages may call it; nil leaves that to the backend.
    package let crossOrigin: CrossOrigin?
    /// Whether its requests may become WebSockets; nil: they may not.
    let webSocket: WebSocketPolicy?
    let access: Access
    let acceptance: TokenAcceptance
    /// Whether `Authorization` is passed on after it was verified.
    let forwardToken: Bool
    /// A field that the route sets or removes is removed in every spelling.
    let inbound: InboundFields

    init(_ route: Route, identityNamespace: String) {
        name = route.name
        destination = route.destination
        treatment = route.treatment
        crossOrigin = route.crossOrigin
        webSocket = route.webSocket
        access = route.access
        acceptance = TokenAcceptance(issuers: route.issuers, tokenUses: route.tokenUses)
        forwardToken = route.forwardToken
        inbound = InboundFields(
            namespace: identityNamespace, alsoSet: route.treatment?.requestHeaders.removed ?? [])
    }

    /// A backend's trailers as a client that asked for them gets them; nil where nothing is left.
    package func trailersForClient(_ fields: HTTPFields) -> HTTPFields? {
        TrailerFields.forClient(fields, inbound: inbound, rules: treatment?.responseHeaders)
    }
}
