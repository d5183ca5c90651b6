package import HTTP1
package import NIOCore
package import Pipeline

/// A listener's limits for its clients, and its timeouts.
package struct ListenerSettings: Sendable {
    package var host: String
    package var port: Int
    package var head: HeadLimits
    /// The time limit for a PROXY header, and again for a TLS handshake.
    package var handshakeTimeout: TimeAmount
    /// The time limit from a request's first byte to the end of its head.
    package var headTimeout: TimeAmount
    /// The longest pause between two parts of a request's body, and the longest time without progress while a client
    /// takes a response.
    package var bodyIdleTimeout: TimeAmount
    /// The longest time between a response and the next request, and from accept to the first byte.
    package var keepAliveTimeout: TimeAmount
    /// The most open connections. Beyond the limit, a new connection causes the one that has been idle longest to be
    /// closed. If none is idle, the new one gets 503, or is closed if the listener uses TLS.
    package var connections: Int
    /// The most open connections of one client address (IPv6: /64). Further ones get 503, or are closed if they use TLS
    /// or began with a PROXY header. No idle connection is closed for them.
    package var connectionsPerAddress: Int
    /// The file descriptors that client connections leave free. Below an `RLIMIT_NOFILE` of 1024 the reserve shrinks in
    /// proportion.
    package var descriptorReserve = 256
    /// Proxies with many clients; their addresses are not counted.
    package var trustedProxies: [IPNetwork]
    /// The minimum rate of heads and bodies in bytes per second; 0: none.
    package var minimumRate: Int
    /// The time for which a client may be slower than the minimum rate, or silent.
    package var minimumRateGrace: TimeAmount
    /// Peers whose connections begin with a PROXY header, which names the client.
    package var proxies: [IPNetwork]
    /// The hosts that requests may name; nil: any.
    package var serverNames: HostNames?
    /// The port for redirects of requests without TLS to https; nil: requests are not redirected.
    package var httpsPort: Int?
    /// The external authorization that this listener provides; nil: requests are proxied.
    package var authorization: ExternalAuthorization?
    /// The ACME challenges, answered before any other processing; nil: none.
    package var challenges: PendingChallenges?
    /// The TLS configuration; nil: no TLS.
    package var tls: ListenerTLS?
    /// The limits of HTTP/2; nil: HTTP/1.1 only. HTTP/2 is negotiated by ALPN over TLS, and detected by its preface
    /// without TLS.
    package var http2: HTTP2Limits?

    package init(
        host: String, port: Int, head: HeadLimits = HeadLimits(),
        handshakeTimeout: TimeAmount = .seconds(10), headTimeout: TimeAmount = .seconds(10),
        bodyIdleTimeout: TimeAmount = .seconds(30), keepAliveTimeout: TimeAmount = .seconds(75),
        connections: Int = 10_000, connectionsPerAddress: Int = .max, trustedProxies: [IPNetwork] = [],
        minimumRate: Int = 0, minimumRateGrace: TimeAmount = .seconds(30), proxies: [IPNetwork] = [],
        serverNames: HostNames? = nil, httpsPort: Int? = nil, authorization: ExternalAuthorization? = nil,
        challenges: PendingChallenges? = nil, tls: ListenerTLS? = nil, http2: HTTP2Limits? = nil
    ) {
        self.host = host
        self.port = port
        self.head = head
        self.handshakeTimeout = handshakeTimeout
        self.headTimeout = headTimeout
        self.bodyIdleTimeout = bodyIdleTimeout
        self.keepAliveTimeout = keepAliveTimeout
        self.connections = connections
        self.connectionsPerAddress = connectionsPerAddress
        self.trustedProxies = trustedProxies
        self.minimumRate = minimumRate
        self.minimumRateGrace = minimumRateGrace
        self.proxies = proxies
        self.serverNames = serverNames
        self.httpsPort = httpsPort
        self.authorization = authorization
        self.challenges = challenges
        self.tls = tls
        self.http2 = http2
    }
}

/// Settings in one place for all connections that were accepted under them. A connection would otherwise copy them, and
/// retain each of their references.
final class SharedListenerSettings: Sendable {
    let values: ListenerSettings

    init(_ values: ListenerSettings) { self.values = values }
}

extension ListenerSettings {
    /// Whether connections from this address begin with a PROXY header.
    func isProxy(_ address: IPAddress) -> Bool {
        !proxies.isEmpty && proxies.contains { $0.contains(address) }
    }

    /// Returns the counters of an address; nil for a trusted proxy, which stands for many clients.
    func slots(of address: IPAddress) -> AddressCounters? {
        guard trustedProxies.isEmpty || !trustedProxies.contains(where: { $0.contains(address) }) else { return nil }
        return AddressCounters(of: address)
    }
}

/// The reason for which the listener itself refuses a request.
package enum ListenerFault: Error, Equatable, Sendable {
    /// The request is malformed, too large or not supported.
    case http(HTTP1Fault)
    /// The head or the body did not arrive in time.
    case requestTimeout
    /// The head or the body was slower than the minimum rate.
    case requestTooSlow

    /// The reason code for logs and metrics.
    package var reason: Reason {
        switch self {
        case .http(let fault): .http1(fault)
        case .requestTimeout: .request(.requestTimeout)
        case .requestTooSlow: .request(.requestTooSlow)
        }
    }
}
