internal import HTTP1
internal import HTTPTypes

/// The request that an HTTP/1.1 connection is answering, as far as its response depends on it.
struct OutstandingRequest {
    let isHead: Bool
    let minorVersion: Int
    /// Whether the connection may go on afterwards.
    private(set) var keepAlive: Bool
    /// The client waits for 100 (RFC 9110 §10.1.1).
    var continueIsDue: Bool
    var requestIsComplete: Bool
    private(set) var responseHasBegun = false

    /// - Parameter isLast: whether the connection closes behind it, whatever the client asks for.
    init(_ head: RequestHead, isLast: Bool) {
        isHead = head.request.method == .head
        minorVersion = head.minorVersion
        keepAlive = head.keepAlive && !isLast
        continueIsDue = head.expectsContinue && head.framing != .none
        requestIsComplete = head.framing == .none
    }

    private init(unreadableToHead isHead: Bool) {
        self.isHead = isHead
        minorVersion = 1
        keepAlive = false
        continueIsDue = false
        requestIsComplete = true
    }

    /// One that could not be read: all that is left is to say so.
    ///
    /// - Parameter toHead: whether it is known to be a HEAD request, to which no response has a body (RFC 9110 §9.3.2).
    static func unreadable(toHead: Bool) -> OutstandingRequest { OutstandingRequest(unreadableToHead: toHead) }

    mutating func beginResponse() {
        responseHasBegun = true
        continueIsDue = false
        // The rest of the request would have to be read before the next one. `Connection: close` shows the client that
        // it need not send it.
        if !requestIsComplete { keepAlive = false }
    }
}
