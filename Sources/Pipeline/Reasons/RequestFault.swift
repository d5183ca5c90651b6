/// Why the gateway refuses a request, or a response did not reach its end, beside faults of messages, paths and tokens.
/// The raw values are reason codes.
package enum RequestFault: String, Sendable, CaseIterable {
    case tokenMissing = "token-missing"
    case repeatedAuthorization = "repeated-authorization"
    case repeatedToken = "repeated-token"
    case crossSiteRequest = "cross-site-request"
    case noRoute = "no-route"
    case hostNotServed = "host-not-served"
    case methodNotAllowed = "method-not-allowed"
    case keysUnavailable = "keys-unavailable"
    case revocationsUnavailable = "revocations-unavailable"
    case attributesUnavailable = "attributes-unavailable"
    case identityTooLarge = "identity-too-large"
    case directCognito = "direct-cognito"
    case clientDisconnected = "client-disconnected"
    case bodyTooLarge = "body-too-large"
    case requestTimeout = "request-timeout"
    case requestTooSlow = "request-too-slow"
    case crossOriginNotAllowed = "cors-not-allowed"
    case overloaded
    case overloadedAddress = "overloaded-address"
    case addressNotAllowed = "address-not-allowed"
    case rateLimited = "rate-limited-route"
    case webSocketHandshake = "websocket-handshake"
    case webSocketVersion = "websocket-version"
    case webSocketNotServed = "websocket-not-served"
    case assertionNotSigned = "assertion-not-signed"
    case endpointWithoutService = "endpoint-without-service"
    case routeWithoutUpstream = "route-without-upstream"
    case userSyncFailed = "user-sync-failed"
    /// An operator's call names something that is no value of its kind.
    case invalidParameter = "invalid-parameter"
}
