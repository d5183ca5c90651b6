internal import HTTP1
internal import HTTPTypes

/// The properties of an HTTP/1.1 connection's current request that determine its response.
struct OutstandingRequest {
    let isHead: Bool
    let minorVersion: Int
    /// Whether the connection may stay open afterwards.
    private(set) var keepAlive: Bool
    /// Whether the client waits for 100 (Continue) (RFC 9110 §10.1.1).
    var continueIsDue: Bool
    var requestIsComplete: Bool
    private(set) var responseHasBegun = false

    /// - Parameter isLast: whether the connection closes after this request, regardless of the client's wish.
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

    /// Returns a request that could not be read, for the error response.
    ///
    /// - Parameter toHead: whether it is known to be a HEAD request, whose responses have no body (RFC 9110 §9.3.2).
    static func unreadable(toHead: Bool) -> OutstandingRequest { OutstandingRequest(unreadableToHead: toHead) }

    mutating func beginResponse() {
        responseHasBegun = true
        continueIsDue = false
        // The rest of the request would have to be read before the next one. `Connection: close` tells the client not
        // to send it.
        if !requestIsComplete { keepAlive = false }
    }
}
