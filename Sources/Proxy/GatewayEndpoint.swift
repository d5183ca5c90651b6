package import Accounts
internal import Encoding
internal import HTTPTypes
internal import NIOCore
package import Pipeline

/// An endpoint that the gateway itself provides on the public listeners.
package enum GatewayEndpoint: Sendable {
    /// - Parameter group: the index of the ``AccountGroup`` that serves the path.
    case account(AccountOperation, group: Int)
    case session(AccountOperation)
    /// The JSON Web Key Set with which backends verify assertions, and anyone the gateway's session tokens.
    case keySet
    /// The metadata of hosted sign-in (RFC 8414).
    ///
    /// - Parameter group: as in ``account(_:group:)``.
    case authorizationServer(group: Int)

    /// The route of the key set. It is public, because it holds only public keys.
    package static func keySetRoute(number: Int) throws(RouteError) -> Route {
        Route(
            name: "gatehouse:jwks", pattern: try RoutePattern("/.well-known/gatehouse/jwks.json"), methods: [.get],
            access: .public, destination: .endpoint(number))
    }
}

extension GatewayEndpoint {
    /// The response with the authorization server metadata.
    static func answer(metadata: JSONObject, requestID: String) -> (HTTPResponse, ByteBuffer) {
        let head = HTTPResponse(
            status: .ok,
            // RFC 8414, 3.2.
            headerFields: [.contentType: "application/json", .cacheControl: "public, max-age=\(Self.maximumAge)"])
        return Refusal.answer(head, metadata.encoded(), requestID: requestID)
    }

    /// The time in seconds for which a document may be cached. It is short compared with the time for which a key is
    /// published before it signs.
    static let maximumAge = 300

    /// The response with the key set.
    static func answer(keySet document: [UInt8], requestID: String) -> (HTTPResponse, ByteBuffer) {
        let head = HTTPResponse(
            status: .ok,
            headerFields: [
                // RFC 7517, 8.5.2.
                .contentType: "application/jwk-set+json", .cacheControl: "public, max-age=\(Self.maximumAge)",
            ])
        return Refusal.answer(head, document, requestID: requestID)
    }
}
