package import Accounts
internal import Encoding
internal import HTTPTypes
internal import NIOCore
package import Pipeline

/// An endpoint of the gateway's own on the public listeners.
package enum GatewayEndpoint: Sendable {
    /// - Parameter group: the number of the group of pools that share the path.
    case account(AccountOperation, group: Int)
    case session(AccountOperation)
    /// The keys that backends verify assertions with, and anyone the gateway's sessions.
    case keySet
    /// The metadata of hosted sign-in (RFC 8414).
    ///
    /// - Parameter group: as that of an account operation.
    case authorizationServer(group: Int)

    /// The route of the key set, which is public as its keys are.
    package static func keySetRoute(number: Int) throws(RouteError) -> Route {
        Route(
            name: "gatehouse:jwks", pattern: try RoutePattern("/.well-known/gatehouse/jwks.json"), methods: [.get],
            access: .public, destination: .endpoint(number))
    }
}

extension GatewayEndpoint {
    /// The metadata as they are served.
    static func answer(metadata: JSONObject, requestID: String) -> (HTTPResponse, ByteBuffer) {
        let head = HTTPResponse(
            status: .ok,
            // RFC 8414, 3.2.
            headerFields: [.contentType: "application/json", .cacheControl: "public, max-age=\(Self.maximumAge)"])
        return Refusal.answer(head, metadata.encoded(), requestID: requestID)
    }

    /// For how many seconds a document may be kept: short beside the time for which a key is in it before it signs.
    static let maximumAge = 300

    /// The set as it is served.
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
