package import Pipeline

/// The data of one request whose response has ended. It is created on the event loop and formatted on another thread.
package struct AccessRecord: Sendable {
    /// The start time of the request, in milliseconds since 1970-01-01 UTC.
    package var time: Int64
    package var requestID: String
    /// The client's IP address, without its port.
    package var clientAddress: String
    package var method: String
    /// The request's target as received: path and query. The query's values are omitted when it is written.
    package var target: String
    package var status: Int
    /// The number of body bytes sent to the client.
    package var bytesSent: Int64
    /// The time from the request's first byte to the response's last byte, in microseconds.
    package var duration: Int64
    /// The time from the request's start at the upstream to the response's last byte, in microseconds; nil if the
    /// gateway responded itself.
    package var upstreamDuration: Int64?
    /// The last server that received the request, as named in the settings; nil if none did.
    package var server: String?
    /// The number of times the request was sent again, to the same or another server.
    package var retries: Int
    /// The name of the matching route; nil if there was none.
    package var route: String?
    /// The token's `sub`; nil without a token. Only a keyed hash of it is written.
    package var subject: String?
    /// The reason for the refusal from a closed list, such as `expired`; nil if the request was not refused.
    package var denialReason: String?
    /// The kind of proxy that requested an external authorization; nil if the request was proxied.
    package var decisionFor: String?
    /// Nil if tracing is off.
    package var trace: TraceIDs?
    /// The host that the request names, possibly with a port.
    package var host: String?
    package var userAgent: String?
    /// The protocol versions of the client; nil if no valid request was received.
    package var clientProtocol: ClientProtocol?
    /// The number of body bytes received from the client.
    package var bytesReceived: Int64
    /// The status of the backend's response; nil if there was none.
    package var upstreamStatus: Int?

    /// The target with the names of the query's parameters, without their values.
    package var loggedTarget: String {
        var bytes = Array(target.utf8)
        RedactedTarget.redact(&bytes, from: 0)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The beginning of ``userAgent``, because clients choose its length.
    var loggedUserAgent: String? {
        guard let userAgent, userAgent.utf8.count > Self.longestUserAgent else { return userAgent }
        return String(decoding: userAgent.utf8.prefix(Self.longestUserAgent), as: UTF8.self)
    }

    private static let longestUserAgent = 256

    /// The host of an authority. An IPv6 address loses its brackets.
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
        clientProtocol: ClientProtocol? = nil, bytesReceived: Int64 = 0, upstreamStatus: Int? = nil
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
        self.clientProtocol = clientProtocol
        self.bytesReceived = bytesReceived
        self.upstreamStatus = upstreamStatus
    }
}
