internal import Encoding
internal import HTTP1
internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline

/// Answers that no backend gives.
extension Exchange {
    func refuse(_ refusal: Refusal) {
        log.reason = refusal.reason
        var refusal = request.authorization?.answer(refusal) ?? refusal
        refusal.deniesSuccess = rule?.deniesSuccess ?? isSessionCall
        var (head, body) = refusal.answer(requestID: log.requestID)
        // A client whose message can be read two ways may send more of them: nothing further is read (RFC 9112 §11.2).
        // A question's message is not what can be.
        if refusal.error == .badRequest, request.authorization == nil { head.headerFields[.connection] = "close" }
        answer(head, body)
    }

    /// Whether what has no route is below the sessions' endpoints, whose clients look for `success`.
    private var isSessionCall: Bool {
        guard let prefix = service.plan.sessionPrefix else { return false }
        return request.head.path?.utf8.starts(with: prefix.utf8) == true
    }

    /// Tells the proxy that asks that the original request may go on, and whose it is.
    func grant(_ permit: consuming Permit) {
        (log.routeIndex, log.subject) = (permit.routeIndex, permit.subject)
        guard !permit.isOverridden else { return refuse(ExternalAuthorization.overridden) }
        // Where the gateway forwards, no other route's requests become WebSockets.
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

    /// Whether the client came by https, to this listener or to a trusted proxy.
    var isSecure: Bool { request.head.scheme?.hasSameBytes(as: "https") == true }

    /// Sends the client to the same host and path by https. The method stays what it is (RFC 9110 §15.4.9).
    ///
    /// - Parameter port: where https is spoken.
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

    /// Shows an ACME directory that the gateway serves the name (RFC 8555, 8.3).
    func answerChallenge(_ keyAuthorization: String) {
        var head = HTTPResponse(status: .ok, headerFields: [.contentType: "application/octet-stream"])
        head.headerFields[.cacheControl] = "no-store"
        head.headerFields[.requestID] = log.requestID
        send(head, ByteBuffer(string: keyAuthorization))
    }

    /// An address of IPv6 keeps its brackets.
    private static func hostWithoutPort(_ authority: String) -> String {
        guard authority.utf8.first == UInt8(ascii: "[") else {
            return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") }))
        }
        return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: "]") })) + "]"
    }

    /// An answer of the gateway's own, which a page that may call the route may read.
    func answer(_ head: HTTPResponse, _ body: ByteBuffer) {
        var head = head
        crossOrigin?.apply(to: &head.headerFields, for: request.head)
        send(head, body)
    }

    var crossOrigin: CrossOrigin? {
        rule?.crossOrigin
    }
}
