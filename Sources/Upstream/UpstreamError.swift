package import Pipeline

/// The reason for a missing or incomplete response of a backend.
package enum UpstreamError: Error, Equatable, Sendable {
    /// No connection: refused, unresolvable, TLS failed. The text is libcurl's own.
    case cannotConnect(String)
    case connectTimeout
    /// No byte arrived within the first-byte timeout.
    case firstByteTimeout
    /// No byte was transferred in either direction within the idle timeout.
    case idleTimeout
    /// The whole exchange took longer than its route allows.
    case wholeTimeout
    /// The connection ended or failed before the response was complete.
    case connectionLost
    /// The response breaks HTTP/1.1; the text is the reason code.
    case protocolFault(String)
    /// No server takes requests now; one may after `retryAfter` seconds.
    case noServer(retryAfter: Int)
    /// All servers are busy and the queue is full.
    case overloaded
    /// All servers were busy for the longest time that the request may wait.
    case waitedTooLong

    /// The kind of error that the client gets.
    package enum Kind: Sendable {
        /// 502: the backend is broken.
        case broken
        /// 504: the backend is slow.
        case slow
        /// 503: the request was not sent to a backend.
        case unavailable(retryAfter: Int)
    }

    package var kind: Kind {
        switch self {
        case .connectTimeout, .firstByteTimeout, .idleTimeout, .wholeTimeout: .slow
        case .cannotConnect, .connectionLost, .protocolFault: .broken
        case .noServer(let seconds): .unavailable(retryAfter: seconds)
        case .overloaded, .waitedTooLong: .unavailable(retryAfter: 1)
        }
    }

    /// Whether the server has failed. It has not if it was never tried (no server, full queue, waited too long), or if the
    /// response took longer than the route allows.
    var countsAgainstServer: Bool {
        switch self {
        case .cannotConnect, .connectTimeout, .firstByteTimeout, .idleTimeout, .connectionLost, .protocolFault: true
        case .wholeTimeout, .noServer, .overloaded, .waitedTooLong: false
        }
    }

    /// A description for people.
    package var text: String {
        switch self {
        case .cannotConnect(let text): text
        case .connectTimeout: "no connection in time"
        case .firstByteTimeout: "no response in time"
        case .idleTimeout: "the response stopped for too long"
        case .wholeTimeout: "the response took longer than its route allows"
        case .connectionLost: "the connection ended before the response was complete"
        case .protocolFault(let code): "the response breaks HTTP/1.1: \(code)"
        case .noServer: "no server takes requests"
        case .overloaded: "all servers are busy, and too many requests wait"
        case .waitedTooLong: "all servers were busy for as long as a request waits"
        }
    }

    /// The reason code for logs and metrics.
    package var reason: UpstreamReason {
        switch self {
        case .cannotConnect: .unreachable
        case .connectTimeout: .connectTimeout
        case .firstByteTimeout: .firstByteTimeout
        case .idleTimeout: .idleTimeout
        case .wholeTimeout: .wholeTimeout
        case .connectionLost: .connectionLost
        case .protocolFault: .protocolFault
        case .noServer: .noServer
        case .overloaded: .overloaded
        case .waitedTooLong: .waitedTooLong
        }
    }
}

/// An error of one server.
package enum ServerError: Sendable, Equatable {
    case error(UpstreamError)
    /// It responded with this status.
    case status(Int)

    /// A description for people.
    package var text: String {
        switch self {
        case .error(let error): error.text
        case .status(let status): "status \(status)"
        }
    }
}

extension UpstreamExchange {
    /// Returns the server failure that an error represents; nil if the server is not at fault.
    func failure(by error: UpstreamError) -> ServerFailure? {
        switch error {
        case .cannotConnect: .unreachable
        case .connectTimeout: .slowToConnect
        // An event stream may be silent while nothing happens.
        case .idleTimeout where isAwaitingBody: nil
        case .firstByteTimeout, .idleTimeout, .wholeTimeout, .connectionLost, .protocolFault, .noServer, .overloaded,
            .waitedTooLong:
            .ofRequest(traits)
        }
    }

    /// The hashes of the request's client and path.
    var traits: RequestTraits { RequestTraits(path: request.pathHash, client: receiver?.clientHash ?? 0) }
}
