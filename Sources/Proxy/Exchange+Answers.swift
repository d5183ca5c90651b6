internal import HTTPTypes
internal import Listener
internal import NIOCore
internal import Pipeline

/// Answers that no backend gives.
extension Exchange {
    func refuse(_ refusal: Refusal) {
        log.reason = refusal.reason
        var refusal = refusal
        refusal.deniesSuccess = rule?.deniesSuccess ?? isSessionCall
        var (head, body) = refusal.answer(requestID: log.requestID)
        // A client whose message can be read two ways may send more of them: nothing further is read (RFC 9112 §11.2).
        if refusal.error == .badRequest { head.headerFields[.connection] = "close" }
        answer(head, body)
    }

    /// Whether what has no route is below the sessions' endpoints, whose clients look for `success`.
    private var isSessionCall: Bool {
        guard let prefix = service.plan.sessionPrefix else { return false }
        return request.head.path?.utf8.starts(with: prefix.utf8) == true
    }

    func answerPreflight(_ fields: HTTPFields) {
        var head = HTTPResponse(status: .noContent, headerFields: fields)
        head.headerFields[.requestID] = log.requestID
        send(head, ByteBuffer())
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
