internal import Encoding
internal import HTTP1
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline

/// Responses that the gateway generates itself.
extension Exchange {
    func refuse(_ refusal: Refusal) {
        log.reason = refusal.reason
        var refusal = request.authorization?.answer(refusal) ?? refusal
        refusal.deniesSuccess = rule?.deniesSuccess ?? isSessionCall
        var (head, body) = refusal.answer(requestID: log.requestID)
        // A client that sends one ambiguous message may send more: nothing further is read (RFC 9112 §11.2). For an
        // external authorization request, the ambiguous message is the original request, not the one on this
        // connection.
        if refusal.error == .badRequest, request.authorization == nil { head.headerFields[.connection] = "close" }
        answer(head, body)
    }

    /// Whether the path is below the session endpoints' prefix. Clients of these endpoints expect a `success` field in
    /// responses, so a request without a route needs one as well.
    private var isSessionCall: Bool {
        guard let prefix = service.plan.sessionPrefix else { return false }
        return request.head.path?.utf8.starts(with: prefix.utf8) == true
    }

    /// Allows an external authorization request. The response carries the user's identity in header fields.
    func grant(_ permit: consuming Permit) {
        (log.routeIndex, log.subject) = (permit.routeIndex, permit.subject)
        guard !permit.isOverridden else { return refuse(ExternalAuthorization.overridden) }
        // As in forwarding, only a route with WebSockets may accept an extended CONNECT request.
        guard request.head.extendedConnectProtocol == nil || permit.webSocket != nil else {
            return refuse(ExternalAuthorization.notDecided)
        }
        let identity = request.authorization?.answer(permit.identityFields, names: service.plan.gate.identityNames)
        var head = HTTPResponse(status: .ok, headerFields: identity ?? [:])
        head.headerFields[.contentLength] = "0"
        head.headerFields[.cacheControl] = "no-store"
        head.headerFields[.requestID] = log.requestID
        sendUntreated(head, ByteBuffer())
    }

    func answerPreflight(_ fields: HTTPFields) {
        var head = HTTPResponse(status: .noContent, headerFields: fields)
        head.headerFields[.requestID] = log.requestID
        send(head, ByteBuffer())
    }

    /// Whether the client connected over https, to this listener or to a trusted proxy.
    var isSecure: Bool { request.head.scheme?.hasSameBytes(as: "https") == true }

    /// Redirects the client to the same host and path over https. The method is preserved (RFC 9110 §15.4.9).
    ///
    /// - Parameter port: the port that serves https.
    func redirectToHTTPS(port: Int) {
        guard let host = request.head.authority.map(Self.hostWithoutPort), !host.isEmpty else {
            return refuse(Refusal(.http(.missingHost)))
        }
        guard let target = request.head.path, target.utf8.first == UInt8(ascii: "/") else { return refuse(.notFound()) }
        let authority = port == 443 ? host : "\(host):\(port)"
        var head = HTTPResponse(status: .permanentRedirect, headerFields: [.location: "https://\(authority)\(target)"])
        head.headerFields[.requestID] = log.requestID
        send(head, ByteBuffer())
    }

    /// Answers an ACME HTTP-01 challenge, which proves control of the domain name to the certificate authority (RFC
    /// 8555, 8.3).
    func answerChallenge(_ keyAuthorization: String) {
        var head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/octet-stream"])
        head.headerFields[.cacheControl] = "no-store"
        head.headerFields[.requestID] = log.requestID
        send(head, ByteBuffer(string: keyAuthorization))
    }

    /// The host of an authority. An IPv6 address keeps its brackets.
    private static func hostWithoutPort(_ authority: String) -> String {
        guard authority.utf8.first == UInt8(ascii: "[") else {
            return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") }))
        }
        return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: "]") })) + "]"
    }

    /// Sends a response of the gateway's own, with the CORS fields that let a page allowed by the route read it.
    func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        var head = head
        crossOrigin?.apply(to: &head.headerFields, for: request.head)
        send(head, body)
    }

    var crossOrigin: CrossOrigin? {
        rule?.crossOrigin
    }
}
