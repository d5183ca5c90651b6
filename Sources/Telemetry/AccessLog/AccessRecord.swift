package import Pipeline

/// The data about one request when its response has ended. It is made on the event loop and formatted off it.
package struct AccessRecord: Sendable {
    /// When the request began, in milliseconds since 1970-01-01 UTC.
    package var time: Int64
    package var requestID: String
    /// The client's IP address, without its port.
    package var clientAddress: String
    package var method: String
    /// The request's target as it came: path and query. The values of the query are left out when it is written.
    package var target: String
    package var status: Int
    /// Body bytes that were sent to the client.
    package var bytesSent: Int64
    /// From the request's first byte to the response's last, in microseconds.
    package var duration: Int64
    /// From the request's start at the upstream to its response's last byte, in microseconds; nil when the gateway
    /// answered itself.
    package var upstreamDuration: Int64?
    /// The upstream's server that had the request last, as the settings have it; nil when it came to none.
    package var server: String?
    /// How often the request was sent again, to this server or after another one.
    package var retries: Int
    /// The name of the route taken; nil when there was none.
    package var route: String?
    /// The token's `sub`. Only the beginning of its SHA-256 is written.
    package var subject: String?
    /// Why the request was refused, from a closed list such as `expired`; nil when it wasn't.
    package var denialReason: String?
    /// The proxy that asked whether the request may go on; nil for a request that was served.
    package var decisionFor: String?
    /// Nil where no spans are made.
    package var trace: TraceIDs?
    /// The host that the request names, perhaps with a port.
    package var host: String?
    package var userAgent: String?
    /// Nil where no request came to be.
    package var spoken: ClientProtocol?
    /// Body bytes that came from the client.
    package var bytesReceived: Int64
    /// The status of the backend's response; nil where there was none.
    package var upstreamStatus: Int?

    /// The target as it may be shown: the names of the query's parameters without their values.
    package var loggedTarget: String {
        var bytes = Array(target.utf8)
        RedactedTarget.redact(&bytes, from: 0)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The beginning of ``userAgent``, whose length is the client's to choose.
    var loggedUserAgent: String? {
        guard let userAgent, userAgent.utf8.count > Self.longestUserAgent else { return userAgent }
        return String(decoding: userAgent.utf8.prefix(Self.longestUserAgent), as: UTF8.self)
    }

    private static let longestUserAgent = 256

    /// The host of an authority, an address of IPv6 without its brackets.
    static func withoutPort(_ authority: String) -> String {
        guard authority.utf8.first == UInt8(ascii: "[") else {
            return String(Substring(authority.utf8.prefix { $0 != UInt8(ascii: ":") }))
        }
        return String(Substring(authority.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") }))
    }

    package init(
        time: Int64, requestID: String, clientAddress: String, method: String, target: String, status: Int,
        bytesSent: Int64, duration: Int64, upstreamDuration: Int64? = nil, server: String? = nil, retries: Int = 0,
        route: String? = nil, subject: String? = nil, denialReason: String? = nil,
        decisionFor: String? = nil, trace: TraceIDs? = nil, host: String? = nil, userAgent: String? = nil,
        spoken: ClientProtocol? = nil, bytesReceived: Int64 = 0, upstreamStatus: Int? = nil
    ) {
        self.time = time
        self.requestID = requestID
        self.clientAddress = clientAddress
        self.method = method
        self.target = target
        self.status = status
        self.bytesSent = bytesSent
        self.duration = duration
        self.upstreamDuration = upstreamDuration
        self.server = server
        self.retries = retries
        self.route = route
        self.subject = subject
        self.denialReason = denialReason
        self.decisionFor = decisionFor
        self.trace = trace
        self.host = host
        self.userAgent = userAgent
        self.spoken = spoken
        self.bytesReceived = bytesReceived
        self.upstreamStatus = upstreamStatus
    }
}
